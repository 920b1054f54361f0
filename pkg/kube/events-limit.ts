/** A token bucket: `burst` at once, then one for each `refillMs`. */
export interface LimitOptions {
  readonly burst: number;
  readonly refillMs: number;
}

export class Limit {
  readonly #options: LimitOptions;
  #tokens: number;
  #at: number;

  constructor(options: LimitOptions, now: number) {
    this.#options = options;
    this.#tokens = options.burst;
    this.#at = now;
  }

  take(now: number): boolean {
    this.#refill(now);
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }

  /** Until the next take can succeed. */
  waitMs(now: number): number {
    this.#refill(now);
    return this.#tokens >= 1 ? 0 : (1 - this.#tokens) * this.#options.refillMs;
  }

  #refill(now: number): void {
    const { burst, refillMs } = this.#options;
    this.#tokens = Math.min(burst, this.#tokens + (now - this.#at) / refillMs);
    this.#at = now;
  }
}
