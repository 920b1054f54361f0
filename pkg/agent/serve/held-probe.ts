/**
 * kubelet asks once a second whether a node is ready. While it is not, the answer waits for most of that second, so that
 * kubelet hears at once when it has become so. That it is ready no more is said at once.
 */
import type { Clock } from "../../clock/clock.ts";
import { Wakeup } from "../../clock/wakeup.ts";

/** Less than the time between two questions: of a node that has ceased to be ready, as many are answered as before. */
const HOLD_MS = 900;

export class HeldProbe {
  readonly #probe: () => string | undefined;
  readonly #clock: Clock;
  readonly #news = new Wakeup();
  #toldReady = false;

  constructor(probe: () => string | undefined, clock: Clock) {
    this.#probe = probe;
    this.#clock = clock;
  }

  /** What the probe says may have changed. */
  notify(): void {
    this.#news.notify();
  }

  async ask(signal: AbortSignal): Promise<string | undefined> {
    const holds = () => this.#probe() === undefined;
    if (!this.#toldReady) await this.#news.wait(this.#clock, HOLD_MS, signal, holds);
    const problem = this.#probe();
    this.#toldReady = problem === undefined;
    return problem;
  }
}
