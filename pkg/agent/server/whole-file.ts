/** Files that a running server reads, with the way back when it does not take them. */
import { readFileSync, rmSync } from "node:fs";
import { isMissing, writeWhole } from "../files.ts";

/** Undefined when there is no such file. */
export function readBytes(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** As it was before: what was not there is not there again. */
export function putBack(path: string, content: Buffer | undefined): void {
  if (content === undefined) rmSync(path, { force: true });
  else writeWhole(path, content);
}
