/** kubectl against the cluster of $KUBECONFIG, as a user would call it; and objects to begin a test with. */
import { join } from "node:path";
import { KINDS } from "../../pkg/api/api.ts";
import { crdName } from "../../pkg/api/crd.ts";
import { OWNED_BY, OWNED_LABEL } from "../../pkg/api/kind.ts";
import { ROOT, Trouble } from "../../scripts/lib.ts";
import { wasNotDone, whenReachable } from "../lib/reachable.ts";

export interface Answer {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

const DEADLINE_MS = 120_000;

/**
 * kubectl remembers which kinds a server has by its address alone, for hours, and test clusters come and go at one
 * address. A folder that cannot exist makes it ask every time.
 */
const NO_CACHE = "/dev/null/none";

/** Runs kubectl to its end, whatever that is, as long as it has reached the API server. */
export async function tryKubectl(args: readonly string[], input?: string): Promise<Answer> {
  return whenReachable(async () => {
    const answer = await runKubectl(args, input);
    if (answer.code !== 0 && wasNotDone(answer.err)) throw new Trouble(answer.err);
    return answer;
  });
}

async function runKubectl(args: readonly string[], input: string | undefined): Promise<Answer> {
  if (process.env["KUBECONFIG"] === undefined) throw new Trouble("these tests need a cluster: set KUBECONFIG");
  const child = Bun.spawn([process.env["KUBECTL"] ?? "kubectl", ...args], {
    cwd: ROOT,
    env: { ...process.env, KUBECACHEDIR: NO_CACHE },
    stdin: input === undefined ? "ignore" : new Blob([input]),
    stdout: "pipe",
    stderr: "pipe",
    timeout: DEADLINE_MS,
  });
  const [out, err, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { code, out, err };
}

export async function kubectl(args: readonly string[], input?: string): Promise<string> {
  const { code, out, err } = await tryKubectl(args, input);
  if (code !== 0) throw new Trouble(`kubectl ${args.join(" ")} ended with ${code}\n${`${out}${err}`.slice(-2000)}`);
  return out;
}

/** Our CRDs, established. Another operator's of the same names are left as they are. */
export async function installCrds(): Promise<void> {
  const others = await kubectl(["get", "crd", "-l", `${OWNED_LABEL}!=${OWNED_BY}`, "-o", "name"]);
  const foreign = KINDS.map(crdName).filter((name) => others.includes(`/${name}\n`));
  if (foreign.length > 0) throw new Trouble(`this cluster has another operator's CRDs: ${foreign.join(", ")}`);
  const manager = ["--server-side", "--force-conflicts", "--field-manager=valkey-operator-test"];
  await kubectl(["apply", ...manager, "-f", "manifests/crds"]);
  await kubectl(["wait", "--for=condition=Established", "--timeout=90s", "-f", "manifests/crds"]);
}

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string } & Readonly<Record<string, unknown>>;
  readonly spec?: unknown;
}

export async function readManifests(file: string): Promise<Manifest[]> {
  const parsed: unknown = Bun.YAML.parse(await Bun.file(join(ROOT, file)).text());
  return (Array.isArray(parsed) ? parsed : [parsed]) as Manifest[];
}

export function manifest(kind: string, name: string, spec: unknown): Manifest {
  return { apiVersion: "valkey.io/v1alpha1", kind, metadata: { name }, spec };
}

/** Asks the API server to judge an object without keeping it. */
export async function judge(object: object): Promise<Answer> {
  return await tryKubectl(["create", "--dry-run=server", "-o", "json", "-f", "-"], JSON.stringify(object));
}

/** A namespace of its own for a test file; deleted without waiting for its end. */
export async function scratchNamespace(prefix: string): Promise<{ name: string; remove: () => Promise<void> }> {
  const name = `${prefix}-${crypto.randomUUID().slice(0, 8)}`;
  await kubectl(["create", "namespace", name]);
  return { name, remove: async () => void (await kubectl(["delete", "namespace", name, "--wait=false"])) };
}
