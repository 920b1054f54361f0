/** Which of the writes that a witness saw acknowledged are still there. */
import type { Target } from "../write-client/front-end.ts";
import { Prober } from "../write-client/prober.ts";
import { readBack } from "../write-client/read-back.ts";
import type { Acknowledgement } from "./acknowledgement.ts";

const READ_MS = 60_000;

/** Those that are gone; fails when any could not be asked for. */
export async function missing(target: Target, acknowledged: readonly Acknowledgement[]): Promise<Acknowledgement[]> {
  const prober = await Prober.connect(target);
  try {
    const lanes = [await prober.lane()];
    const keys = acknowledged.map(({ key }) => key);
    const { lost, unread } = await readBack([{ keys, lanes }], {
      valueOf: (key) => key,
      hint: () => prober.hint(),
      timeoutMs: READ_MS,
    });
    if (unread > 0) throw new Error(`${unread} of ${keys.length} writes could not be read back within ${READ_MS} ms`);
    const gone = new Set(lost);
    return acknowledged.filter(({ key }) => gone.has(key));
  } finally {
    prober.close();
  }
}
