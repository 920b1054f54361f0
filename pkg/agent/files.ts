/** Small files, read and written as wholes. What an agent writes is for itself and its server alone. */
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

export const OWNER_ONLY = 0o600;

/** Undefined when there is no such file. */
export function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** Whoever reads sees the old content or the new one, never a part. */
export function writeWhole(path: string, content: string | Uint8Array): void {
  const beside = `${path}.new`;
  try {
    writeNew(beside, content);
  } catch {
    // The folder is not there yet, or what an earlier attempt left is.
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    rmSync(beside, { force: true });
    writeNew(beside, content);
  }
  renameSync(beside, path);
}

function writeNew(path: string, content: string | Uint8Array): void {
  writeFileSync(path, content, { mode: OWNER_ONLY, flag: "wx" });
}

/** Whether a write failed because there is no room. */
export function isDiskFull(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "ENOSPC" || error.code === "EDQUOT");
}

export function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR");
}
