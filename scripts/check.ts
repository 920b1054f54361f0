/**
 * npm run check            format, lint, import direction, types, contracts, generated files
 * npm run format           the same, mending first what can be mended by machine
 */
import { $ } from "bun";
import { checkImports } from "./imports.ts";
import { main, ROOT, run, step, Trouble } from "./lib.ts";

const tool = (name: string) => `node_modules/.bin/${name}`;

async function check(fix: boolean): Promise<void> {
  const write = fix ? ["--write"] : [];
  await step("format", () => run([tool("biome"), "check", "--error-on-warnings", ...write, "."]));
  await step("lint", () => run([tool("oxlint"), "--type-aware", ...(fix ? ["--fix"] : [])]));
  await step("import direction", async () => {
    const wrong = await checkImports();
    if (wrong.length > 0) throw new Trouble(wrong.join("\n"));
  });
  await step("types", () => run([tool("tsc"), "-p", "."]));
  await step("contracts", () => run([tool("buf"), "lint"]));
  await step("generated files", generatedFresh);
}

/** Generates everything again and compares: what differs was stale. The tree is left as generated. */
async function generatedFresh(): Promise<void> {
  const before = await generatedState();
  await run([process.execPath, "scripts/generate.ts"]);
  const after = await generatedState();
  const stale = [...after].filter(([file, hash]) => before.get(file) !== hash).map(([file]) => file);
  const gone = [...before.keys()].filter((file) => !after.has(file));
  if (stale.length + gone.length === 0) return;
  throw new Trouble(`stale generated files (made anew just now, commit them): ${[...stale, ...gone].join(", ")}`);
}

async function generatedState(): Promise<Map<string, string>> {
  const folders = ["pkg/rpc/gen", "manifests", "docs", "images"];
  const files = (await $`git ls-files -co --exclude-standard -- ${folders}`.cwd(ROOT).text())
    .split("\n")
    .filter(Boolean);
  const state = new Map<string, string>();
  for (const file of files) {
    const content = Bun.file(`${ROOT}/${file}`);
    if (await content.exists()) state.set(file, Bun.hash(await content.arrayBuffer()).toString());
  }
  return state;
}

await main(() => check(process.argv.includes("--fix")), import.meta.path);
