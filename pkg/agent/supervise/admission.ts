/**
 * Which process was let in through the gate, kept beside it: an agent that restarts must know whether the server it finds
 * runs by its word or still waits. Written before the gate opens, so a server that runs is always noted down.
 */
import { rmSync } from "node:fs";
import * as v from "valibot";
import { readIfThere, writeWhole } from "../files.ts";
import type { ProcessId } from "./process.ts";

export interface Admission {
  readonly process: ProcessId;
  /** Whether it may not take writes yet: it was a primary when it last ran, and another leads now. */
  readonly fenced: boolean;
  /** Whether it has been in sync with its primary since it started. */
  readonly synced: boolean;
}

const SCHEMA = v.object({
  process: v.object({ pid: v.number(), startedAt: v.string() }),
  fenced: v.boolean(),
  synced: v.boolean(),
});

/** Undefined when nobody was let in, or the note cannot be read: then the server is looked for as if never seen. */
export function readAdmission(path: string): Admission | undefined {
  const text = readIfThere(path);
  if (text === undefined) return undefined;
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), SCHEMA), text);
  return parsed.success ? parsed.output : undefined;
}

export function writeAdmission(path: string, admission: Admission): void {
  writeWhole(path, JSON.stringify(admission));
}

export function clearAdmission(path: string): void {
  rmSync(path, { force: true });
}
