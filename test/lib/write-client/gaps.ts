/** How long a shard went without a successful write: the measure of an interruption as a user feels it. */

export interface Gap {
  /** Since the run began. */
  readonly atMs: number;
  readonly ms: number;
}

/** Shorter ones are the noise of a shared machine. */
const WORTH_TELLING_MS = 50;

export class GapMeter {
  readonly #began: number;
  #last: number;
  #worst: Gap = { atMs: 0, ms: 0 };
  readonly #long: Gap[] = [];

  /** Times are milliseconds of one monotonic clock. */
  constructor(began: number) {
    this.#began = began;
    this.#last = began;
  }

  /** A write was acknowledged now. Acknowledgements that come out of order do not count backwards. */
  success(now: number): void {
    this.#close(now);
    this.#last = Math.max(this.#last, now);
  }

  /** The run is over: the time since the last success counts too. */
  end(now: number): void {
    this.#close(now);
  }

  get worst(): Gap {
    return this.#worst;
  }

  /** Every gap above 50 ms, in order. */
  get long(): readonly Gap[] {
    return this.#long;
  }

  #close(now: number): void {
    const gap = { atMs: Math.round(this.#last - this.#began), ms: Math.round((now - this.#last) * 10) / 10 };
    if (gap.ms > this.#worst.ms) this.#worst = gap;
    if (gap.ms > WORTH_TELLING_MS) this.#long.push(gap);
  }
}
