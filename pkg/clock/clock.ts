/**
 * Time as something that is passed in. What waits or measures takes a Clock, so that its tests run hours in
 * milliseconds and in the same order every time.
 */
export interface Clock {
  /** Milliseconds that never go back; only differences mean anything. */
  readonly monotonic: () => number;
  /** The time of day in milliseconds since 1970; may jump. For what people and other machines read. */
  readonly wall: () => number;
  /** Calls `callback` once after `ms`; the function returned takes it back. */
  readonly after: (ms: number, callback: () => void) => () => void;
}

/** setTimeout takes 32 bits and fires at once beyond; a longer wait is cut and the waiter looks again. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  monotonic: () => performance.now(),
  wall: () => Date.now(),
  after: (ms, callback) => {
    const timer = setTimeout(callback, Math.min(Math.max(0, ms), LONGEST_TIMER_MS));
    return () => clearTimeout(timer);
  },
};

/** Waits `ms`; rejects with the signal's reason when that comes first. */
export async function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const cancel = clock.after(ms, resolve);
  const aborted = () => reject(reasonOf(signal));
  signal?.addEventListener("abort", aborted, { once: true });
  try {
    await promise;
  } finally {
    cancel();
    signal?.removeEventListener("abort", aborted);
  }
}

/** Waits `ms` or until the signal is aborted, whichever is first; says whether the time passed. */
export async function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return false;
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const cancel = clock.after(ms, () => resolve(true));
  const aborted = () => resolve(false);
  signal.addEventListener("abort", aborted, { once: true });
  const passed = await promise;
  cancel();
  signal.removeEventListener("abort", aborted);
  return passed;
}

function reasonOf(signal: AbortSignal | undefined): Error {
  const reason: unknown = signal?.reason;
  return reason instanceof Error ? reason : new Error("aborted", { cause: reason });
}
