/**
 * Results that are there whole or not at all: the work is done in a folder beside its place and the result is renamed
 * into it. Any number of processes may make the same thing at once, and one that is killed leaves nothing half made.
 */
import { randomUUID } from "node:crypto";
import { lstat, mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

/** Nobody works longer on one thing; by then a folder is of a process that was killed. */
const ABANDONED_AFTER_MS = 3_600_000;

/** An empty folder beside the place, gone when the work has ended. */
export async function withScratch<T>(place: string, work: (scratch: string) => Promise<T>): Promise<T> {
  await mkdir(dirname(place), { recursive: true });
  await removeAbandoned(place);
  const scratch = `${place}.making-${randomUUID()}`;
  await mkdir(scratch);
  try {
    return await work(scratch);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** A folder that is made once and then only read. */
export async function ensureFolder(place: string, fill: (folder: string) => Promise<void>): Promise<void> {
  if (await exists(place)) return;
  await withScratch(place, async (scratch) => {
    const folder = join(scratch, "made");
    await mkdir(folder);
    await fill(folder);
    await moveInto(folder, place);
  });
}

async function moveInto(made: string, place: string): Promise<void> {
  try {
    await rename(made, place);
  } catch (error) {
    // Somebody else made the same meanwhile: theirs is as good as ours.
    if (!(await exists(place))) throw error;
  }
}

async function removeAbandoned(place: string): Promise<void> {
  const folder = dirname(place);
  const scratches = (await readdir(folder)).filter((name) => name.startsWith(`${basename(place)}.making-`));
  for (const name of scratches) {
    const path = join(folder, name);
    // Its owner may end and remove it while we look.
    const age = Date.now() - ((await stat(path).catch(() => undefined))?.mtimeMs ?? Date.now());
    if (age > ABANDONED_AFTER_MS) await rm(path, { recursive: true, force: true });
  }
}

export async function exists(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => undefined)) !== undefined;
}
