/** Who waits for the end of a handover, and how long writes waited for it. */
import type { HandoverResult } from "../../plan/lease/context.ts";

export interface Handover {
  readonly result: HandoverResult;
  /** For how long this node took no writes while it was still the primary. */
  readonly writesWaitedMs: number;
}

export class Handovers {
  readonly #waiting = new Set<(handover: Handover) => void>();
  #waitsSince: number | undefined;

  /** Writes wait from now on, if they did not before. */
  writesWait(now: number): void {
    this.#waitsSince ??= now;
  }

  ended(result: HandoverResult, now: number): void {
    const writesWaitedMs = this.#waitsSince === undefined ? 0 : Math.round(now - this.#waitsSince);
    this.#waitsSince = undefined;
    for (const tell of this.#waiting) tell({ result, writesWaitedMs });
    this.#waiting.clear();
  }

  /** The end of the one that is begun by `begin`, or that was under way. */
  async next(begin: () => void, signal: AbortSignal): Promise<Handover> {
    const { promise, resolve, reject } = Promise.withResolvers<Handover>();
    const aborted = () => reject(signal.reason);
    if (signal.aborted) throw signal.reason;
    signal.addEventListener("abort", aborted, { once: true });
    this.#waiting.add(resolve);
    try {
      begin();
      return await promise;
    } finally {
      this.#waiting.delete(resolve);
      signal.removeEventListener("abort", aborted);
    }
  }
}
