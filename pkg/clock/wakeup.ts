/** Lets one wait for news, for a time at most. */
import type { Clock } from "./clock.ts";

export class Wakeup {
  readonly #waiting = new Set<() => void>();

  notify(): void {
    for (const wake of this.#waiting) wake();
  }

  /** Until the time is over, the signal is aborted, `until` holds, or, without that, there are news of any kind. */
  async wait(clock: Clock, ms: number, signal: AbortSignal, until?: () => boolean): Promise<void> {
    if (signal.aborted) return;
    // Who is woken again and again must not keep everybody else from what they wait for.
    if (until?.() === true) return giveWay();
    const { promise, resolve } = Promise.withResolvers<void>();
    const wake = () => {
      if (until?.() !== false) resolve();
    };
    const end = () => resolve();
    const cancel = clock.after(ms, end);
    this.#waiting.add(wake);
    signal.addEventListener("abort", end, { once: true });
    await promise;
    cancel();
    this.#waiting.delete(wake);
    signal.removeEventListener("abort", end);
  }
}

/** Until everything that has happened meanwhile was attended to. */
async function giveWay(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  setImmediate(resolve);
  await promise;
}
