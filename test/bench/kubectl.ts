/** Where the kubectl is that ours is compared with. */
import { delimiter } from "node:path";
import { Trouble } from "../../scripts/lib.ts";
import { builtKubectl } from "../lab/binaries.ts";

/**
 * KUBECTL may hold arguments ("/path/to/kube kubectl"); without it, the lab's when it has been compiled already;
 * without that, the one on PATH.
 */
export async function findKubectl(
  env: Readonly<Record<string, string | undefined>> = process.env,
  ofLab: () => Promise<string | undefined> = builtKubectl,
): Promise<readonly string[]> {
  const given = env["KUBECTL"]?.split(/\s+/).filter(Boolean) ?? [];
  if (given.length > 0) return given;
  const found = (await ofLab()) ?? (await onPath(env["PATH"] ?? ""));
  if (found === undefined) throw new Trouble("there is no kubectl on PATH; install one, or name one in KUBECTL");
  return [found];
}

/** A wrapper would be slower than what it wraps, and the comparison would flatter us. */
async function onPath(path: string): Promise<string | undefined> {
  const found = path.split(delimiter).flatMap((folder) => Bun.which("kubectl", { PATH: folder }) ?? []);
  for (const candidate of found) {
    if (!(await isScript(candidate))) return candidate;
  }
  return found[0];
}

async function isScript(file: string): Promise<boolean> {
  return (await Bun.file(file).slice(0, 2).text()) === "#!";
}
