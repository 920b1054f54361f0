/** What is no trouble yet: things that take a moment. Remembers when the next of them becomes one. */

export class Patience {
  readonly #now: number;
  #nextMs = Number.POSITIVE_INFINITY;

  constructor(now: Date) {
    this.#now = now.getTime();
  }

  /** Whether it has lasted for so long. A time that is not known counts as long ago. */
  over(since: string | null | undefined, ms: number): boolean {
    const left = since === null || since === undefined ? 0 : Date.parse(since) + ms - this.#now;
    if (!(left > 0)) return true;
    this.#nextMs = Math.min(this.#nextMs, left);
    return false;
  }

  /** Whether it happened within this time. */
  recent(at: string | null | undefined, ms: number): boolean {
    return at !== null && at !== undefined && !this.over(at, ms);
  }

  /** After how long another look may find more; undefined when nothing is being waited for. */
  get nextMs(): number | undefined {
    return Number.isFinite(this.#nextMs) ? this.#nextMs : undefined;
  }
}
