/**
 * When each key of a work queue is to run. A key has one wish at most: later ones are merged into it, the earliest time
 * and the highest priority win. The wish of a blocked key (one that runs) waits until it is unblocked.
 */
import { Heap } from "./queue-heap.ts";

/** A key counts as if it had been added this much earlier (or later) than it was. */
const HEAD_START_MS = { high: 10_000, normal: 0, low: -30_000 } as const;

export type Priority = keyof typeof HEAD_START_MS;

/** So many stale entries are cheaper than looking through all. */
const STALE_ENTRIES = 1000;

export interface Wish {
  readonly key: string;
  /** On the monotonic clock. */
  readonly due: number;
  readonly priority: Priority;
}

interface Place {
  wish: Wish;
  in: "ready" | "delayed" | "none";
}

export class Schedule {
  readonly #places = new Map<string, Place>();
  readonly #blocked = new Set<string>();
  readonly #ready = new Heap<Wish>();
  readonly #delayed = new Heap<Wish>();
  readonly #counts = { ready: 0, delayed: 0, none: 0 };

  /** Keys that can be taken now, as of the last look at the time. */
  get readyCount(): number {
    return this.#counts.ready;
  }

  get delayedCount(): number {
    return this.#counts.delayed;
  }

  want(wish: Wish, now: number): void {
    const known = this.#places.get(wish.key)?.wish;
    const merged = known === undefined ? wish : merge(known, wish);
    if (merged !== known) this.#place(merged, now);
  }

  /** The key does not run before `notBefore`, if it is to run at all. */
  postpone(key: string, notBefore: number, now: number): void {
    const known = this.#places.get(key)?.wish;
    if (known !== undefined && known.due < notBefore) this.#place({ ...known, due: notBefore }, now);
  }

  block(key: string): void {
    this.#blocked.add(key);
  }

  unblock(key: string, now: number): void {
    this.#blocked.delete(key);
    const known = this.#places.get(key)?.wish;
    if (known !== undefined) this.#place(known, now);
  }

  /** Takes out the wish that is first in line, if one is due. */
  take(now: number): Wish | undefined {
    this.#promote(now);
    for (let wish = this.#ready.pop(); wish !== undefined; wish = this.#ready.pop()) {
      if (!this.#holds(wish, "ready")) continue;
      this.#counts.ready -= 1;
      this.#places.delete(wish.key);
      return wish;
    }
    return undefined;
  }

  /** When the next delayed wish is due; Infinity when there is none. */
  nextDue(): number {
    for (let next = this.#delayed.peek(); next !== undefined; next = this.#delayed.peek()) {
      if (this.#holds(next.value, "delayed")) return next.rank;
      this.#delayed.pop();
    }
    return Infinity;
  }

  #promote(now: number): void {
    while (this.nextDue() <= now) {
      const wish = this.#delayed.pop();
      if (wish !== undefined) this.#place(wish, now);
    }
  }

  #place(wish: Wish, now: number): void {
    const before = this.#places.get(wish.key)?.in;
    if (before !== undefined) this.#counts[before] -= 1;
    // A new value, so that entries of the heaps that stand for an older wish are known as stale.
    const fresh = { ...wish };
    const where = this.#blocked.has(wish.key) ? "none" : wish.due <= now ? "ready" : "delayed";
    this.#places.set(wish.key, { wish: fresh, in: where });
    this.#counts[where] += 1;
    if (where === "ready") this.#ready.push(wish.due - HEAD_START_MS[wish.priority], fresh);
    if (where === "delayed") this.#delayed.push(wish.due, fresh);
    this.#compact();
  }

  /**
   * A wish that is brought forward leaves its old entry behind until its time has come. With busy keys and distant times
   * these would pile up.
   */
  #compact(): void {
    if (this.#delayed.size < 2 * this.#counts.delayed + STALE_ENTRIES) return;
    this.#delayed.clear();
    for (const { wish, in: where } of this.#places.values()) {
      if (where === "delayed") this.#delayed.push(wish.due, wish);
    }
  }

  /** Entries in memory, stale ones included; for tests. */
  get entryCount(): number {
    return this.#ready.size + this.#delayed.size;
  }

  #holds(wish: Wish, where: Place["in"]): boolean {
    const place = this.#places.get(wish.key);
    return place?.wish === wish && place.in === where;
  }
}

/** The first wish itself when the second adds nothing to it. */
function merge(first: Wish, second: Wish): Wish {
  const sooner = second.due < first.due;
  const higher = HEAD_START_MS[second.priority] > HEAD_START_MS[first.priority];
  if (!sooner && !higher) return first;
  return {
    key: first.key,
    due: sooner ? second.due : first.due,
    priority: higher ? second.priority : first.priority,
  };
}
