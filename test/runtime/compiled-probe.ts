/**
 * What must hold in the binaries that ship is tried in a binary: one probe program with a subcommand per question,
 * compiled exactly as ours are, once per test run.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { compile } from "../../scripts/build.ts";
import { DIST, step } from "../../scripts/lib.ts";

const BUILT_BY = "RUNTIME_PROBE_BUILT_BY";

/** The path of the binary. Test files share a process but not their modules, hence the mark in the environment. */
export async function compiledProbe(): Promise<string> {
  const outfile = join(DIST, "test/runtime-probe");
  if (process.env[BUILT_BY] !== String(process.pid)) {
    await mkdir(join(DIST, "test"), { recursive: true });
    const entry = join(import.meta.dir, "probe/main.ts");
    await step("compiling the runtime probe", () => compile({ entry, outfile }));
    process.env[BUILT_BY] = String(process.pid);
  }
  return outfile;
}
