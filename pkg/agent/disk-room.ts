/** How much room there is where the server keeps its data, in words for people. */
import { statfsSync } from "node:fs";

export interface Room {
  readonly bytes: number;
  readonly free: number;
}

/** A server that finds this little cannot write. */
const FULL_BYTES = 2 ** 20;
const ALMOST_SHARE = 0.1;
/** Of a large disk a small share is much. */
const ENOUGH_BYTES = 10 * 2 ** 30;

const WAY_OUT = "raise spec.pvc.storageSize, or delete keys; without a volume make room on its Node";

/** Reason and message; the same as long as nothing turns, so that numbers alone are no news. */
export function roomTrouble({ bytes, free }: Room): readonly [string, string] | undefined {
  if (free < FULL_BYTES) {
    const harm = "a primary takes no writes, and a replica cannot follow, until there is room";
    return ["DiskFull", `the disk with the data is full; ${harm}: ${WAY_OUT}.`];
  }
  if (free > bytes * ALMOST_SHARE || free > ENOUGH_BYTES) return undefined;
  return ["DiskAlmostFull", `less than a tenth of the disk with the data is free: ${WAY_OUT}.`];
}

/** Undefined when it cannot be told. */
export function roomAt(path: string): Room | undefined {
  try {
    const { bsize, blocks, bavail } = statfsSync(path);
    return { bytes: blocks * bsize, free: bavail * bsize };
  } catch {
    return undefined; // Nothing is decided on it.
  }
}
