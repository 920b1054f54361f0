/** Waiting for a condition, never for a number of seconds. */

export interface UntilOptions {
  /** Defaults to 60 s: a pod that has to be scheduled and started on a busy machine comes within it. */
  readonly timeoutMs?: number;
  /** At least so long between two attempts; after a costly one twice as long as it took. Defaults to 20 ms. */
  readonly everyMs?: number;
}

/** A look that is a process of its own, as kubectl is, takes no more than a third of the time from what it looks at. */
const REST = 2;
const LONGEST_REST_MS = 500;

/**
 * Tries again until the attempt returns something other than undefined or false; an attempt that throws counts as not
 * yet. After the time is up the error says what was awaited and what the last attempt threw.
 */
export async function until<T>(
  what: string,
  attempt: () => Promise<T | undefined | false> | T | undefined | false,
  options: UntilOptions = {},
): Promise<T> {
  const timeoutMs = options.timeoutMs ?? 60_000;
  const deadline = performance.now() + timeoutMs;
  let last: unknown;
  for (;;) {
    const began = performance.now();
    try {
      const result = await within(what, deadline - performance.now(), attempt);
      if (result !== undefined && result !== false) return result;
    } catch (error) {
      last = error;
    }
    if (performance.now() >= deadline) throw new Error(`waited ${timeoutMs} ms in vain: ${what}`, { cause: last });
    const rest = Math.min(LONGEST_REST_MS, REST * (performance.now() - began));
    await Bun.sleep(Math.max(options.everyMs ?? 20, rest));
  }
}

/** The result of the work, or an error when the time is up first. */
export async function within<T>(what: string, timeoutMs: number, work: () => Promise<T> | T): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new Error(`${what}: no end within ${Math.round(timeoutMs)} ms`)),
    Math.max(1, timeoutMs),
  );
  try {
    return await Promise.race([work(), promise]);
  } finally {
    clearTimeout(timer);
  }
}
