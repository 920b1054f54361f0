/** A clock that stands still until a test moves it. */
import type { Clock } from "./clock.ts";

interface Timer {
  readonly due: number;
  readonly order: number;
  readonly callback: () => void;
}

export class FakeClock implements Clock {
  #now = 0;
  #order = 0;
  readonly #timers = new Set<Timer>();
  /** The wall clock is this far ahead of the monotonic one; tests may set it to make the time of day jump. */
  wallOffset: number;

  constructor(wallStart = Date.UTC(2026, 0, 1)) {
    this.wallOffset = wallStart;
  }

  readonly monotonic = (): number => this.#now;
  readonly wall = (): number => this.#now + this.wallOffset;

  readonly after = (ms: number, callback: () => void): (() => void) => {
    this.#order += 1;
    const timer = { due: this.#now + Math.max(0, ms), order: this.#order, callback };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  };

  get pendingTimers(): number {
    return this.#timers.size;
  }

  /** Moves time forward, firing timers in their order and letting what they woke run before the next one. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    await settle();
    for (let timer = this.#next(end); timer !== undefined; timer = this.#next(end)) {
      this.#timers.delete(timer);
      this.#now = Math.max(this.#now, timer.due);
      timer.callback();
      await settle();
    }
    this.#now = end;
    await settle();
  }

  /** Moves time without firing any timer: what a frozen process sees when it is thawed. */
  freeze(ms: number): void {
    this.#now += ms;
  }

  #next(end: number): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of this.#timers) {
      if (timer.due <= end && (first === undefined || earlier(timer, first))) first = timer;
    }
    return first;
  }
}

function earlier(a: Timer, b: Timer): boolean {
  return a.due < b.due || (a.due === b.due && a.order < b.order);
}

/** Lets every promise that can go on without time passing go on. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 25; turn += 1) await Promise.resolve();
}
