/**
 * Dependencies point one way: cmd and plugin use controllers and agent, those use plan, plan uses api. What decides
 * (plan, api) does no I/O. This check reads every import of the tree and names those that point the wrong way.
 */
import { dirname, join, relative } from "node:path";
import { ROOT } from "./lib.ts";

interface Rule {
  readonly from: RegExp;
  /** What files under `from` may import of our own tree. */
  readonly allow: RegExp;
  readonly why: string;
  /** Packages and built-in modules that files under `from` may import; without it, any. */
  readonly packages?: RegExp;
}

const PURE = /^(valibot|fast-check|bun:test)$/;
const PURE_WITH_MESSAGES = /^(valibot|fast-check|bun:test|@bufbuild\/protobuf)$/;
const RULES: readonly Rule[] = [
  {
    from: /^pkg\/api\//,
    allow: /^pkg\/api\//,
    packages: PURE,
    why: "pkg/api is data: it knows no other package and does no I/O",
  },
  {
    from: /^pkg\/plan\//,
    allow: /^pkg\/(api|plan|rpc\/gen)\//,
    packages: PURE_WITH_MESSAGES,
    why: "pkg/plan decides: it uses pkg/api and the messages of the contracts only and does no I/O",
  },
  {
    from: /^pkg\/sim\//,
    allow: /^pkg\/(api|plan|sim)\//,
    packages: PURE,
    why: "pkg/sim plays decisions against a model: it uses pkg/plan and pkg/api only and does no I/O",
  },
  {
    from: /^pkg\/agent\//,
    allow: /^pkg\/(?!controllers\/|kube\/)/,
    why: "the agent knows neither the controllers nor Kubernetes",
  },
  {
    from: /^pkg\/controllers\//,
    allow: /^pkg\/(?!agent\/|valkey\/)/,
    why: "the operator talks to agents, never to Valkey",
  },
  { from: /^pkg\//, allow: /^pkg\/(?!controllers\/|agent\/)/, why: "libraries know neither controllers nor agent" },
  {
    from: /^cmd\/operator\//,
    allow: /^(cmd\/operator|pkg\/(?!agent\/|valkey\/))/,
    why: "the operator binary holds no agent code",
  },
  {
    from: /^cmd\/sidecar\//,
    allow: /^(cmd\/sidecar|pkg\/(?!controllers\/|kube\/))/,
    why: "the sidecar binary holds no Kubernetes code",
  },
  {
    from: /^plugin\//,
    allow: /^(plugin|pkg\/(?!agent\/|controllers\/))/,
    why: "the plugin asks the operator; it does not carry it",
  },
];

const transpiler = new Bun.Transpiler({ loader: "ts" });

/** The first rule whose `from` matches is the file's rule. Tests may also use test helpers. */
export function wrongImports(file: string, source: string): string[] {
  const rule = RULES.find(({ from }) => from.test(file));
  if (rule === undefined) return [];
  const isTest = file.endsWith(".test.ts");
  // The transpiler drops imports of types alone, which is right: they do nothing at run time.
  return transpiler
    .scanImports(source)
    .map(({ path }) => path)
    .filter((path) => !allowed(rule, file, path, isTest))
    .map((path) => `${file} imports ${path}: ${rule.why}`);
}

function allowed(rule: Rule, file: string, path: string, isTest: boolean): boolean {
  if (!path.startsWith(".")) return rule.packages === undefined || rule.packages.test(path);
  const target = relative(ROOT, join(ROOT, dirname(file), path));
  return rule.allow.test(target) || (isTest && target.startsWith("test/")) || samePackage(file, target);
}

function samePackage(file: string, target: string): boolean {
  return packageOf(file) === packageOf(target);
}

function packageOf(path: string): string {
  return path.split("/").slice(0, 2).join("/");
}

export async function checkImports(): Promise<string[]> {
  const wrong: string[] = [];
  for (const file of [...new Bun.Glob("{cmd,pkg,plugin}/**/*.ts").scanSync({ cwd: ROOT })].toSorted()) {
    wrong.push(...wrongImports(file, await Bun.file(join(ROOT, file)).text()));
  }
  return wrong;
}
