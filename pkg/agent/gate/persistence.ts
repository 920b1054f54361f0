/**
 * In which files the last server kept its data. A server reads its append-only file if it is told to keep one, and its
 * snapshot otherwise, and never looks at the other. So one whose configuration was changed while it was away would begin
 * with nothing, or with something old: it is started as the last one ran, and changed when it runs.
 */
import { statSync } from "node:fs";
import { join } from "node:path";
import { isMissing, readIfThere, writeWhole } from "../files.ts";

export type Mode = "append-only" | "snapshot";

/** Beside the data, because it is about the data: it moves with the volume. */
const NOTE = "agent-persistence";

/** Undefined on a volume that no agent has written to. */
export function readMode(data: string): Mode | undefined {
  const text = readIfThere(join(data, NOTE))?.trim();
  return text === "append-only" || text === "snapshot" ? text : undefined;
}

export function writeMode(data: string, mode: Mode): void {
  if (readMode(data) !== mode) writeWhole(join(data, NOTE), `${mode}\n`);
}

export interface Kept {
  readonly wanted: Mode;
  /** How the last server ran, as it was noted. */
  readonly noted: Mode | undefined;
  readonly hasAppendOnly: boolean;
  readonly snapshotHasData: boolean;
}

/** Where the data is, and so how the next server has to start. */
export function modeToStart({ wanted, noted, hasAppendOnly, snapshotHasData }: Kept): Mode {
  if (!hasAppendOnly) return snapshotHasData ? "snapshot" : wanted;
  return noted ?? wanted;
}

/**
 * What to note of a server that runs and was changed to what is wanted at that time. The append-only file holds all data
 * only when its first rewriting is done, which is when its list of files is written.
 */
export function modeWhileRunning(wanted: Mode, manifest: string, changedAt: number): Mode {
  return wanted === "append-only" && modifiedAt(manifest) < changedAt ? "snapshot" : wanted;
}

function modifiedAt(path: string): number {
  try {
    return statSync(path).mtimeMs;
  } catch (error) {
    if (isMissing(error)) return 0;
    throw error;
  }
}
