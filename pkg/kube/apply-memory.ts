/**
 * What the applier remembers of each object between two looks: the state it has seen to be right, how the server writes
 * down what we asked for, and how often it was repaired lately. All of it may be lost: then one write is sent that
 * changes nothing.
 */
import type { Clock } from "../clock/clock.ts";
import type { Json } from "./apply-compare.ts";

/** Repairs in a row that are made at once; then one for each interval. */
const REPAIRS = 5;
const REPAIR_INTERVAL_MS = 30_000;
/** The oldest entries beyond this are forgotten. */
const MOST = 20_000;

interface Memory {
  readonly hash: string;
  readonly resourceVersion: string;
  readonly rendition: Json | undefined;
  repairs: number;
  repairedAt: number;
}

export interface Seen {
  readonly hash: string;
  /** The version at which the object was as wanted. */
  readonly resourceVersion: string;
  /** How the server writes down what was wanted; undefined when it is exactly that. */
  readonly rendition: Json | undefined;
}

export class ApplyMemory {
  readonly #clock: Clock;
  readonly #memories = new Map<string, Memory>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get(id: string, hash: string): Seen | undefined {
    const known = this.#memories.get(id);
    return known?.hash === hash ? known : undefined;
  }

  remember(id: string, seen: Seen): void {
    const { repairs = 0, repairedAt = -Infinity } = this.#memories.get(id) ?? {};
    this.#memories.delete(id);
    this.#memories.set(id, { ...seen, repairs, repairedAt });
    if (this.#memories.size <= MOST) return;
    const oldest = this.#memories.keys().next();
    if (oldest.done !== true) this.#memories.delete(oldest.value);
  }

  forget(id: string): void {
    this.#memories.delete(id);
  }

  /** 0 when a repair may be made now; otherwise how long to wait. */
  repairWaitMs(id: string): number {
    const known = this.#memories.get(id);
    if (known === undefined) return 0;
    const since = this.#clock.monotonic() - known.repairedAt;
    const left = known.repairs - Math.floor(since / REPAIR_INTERVAL_MS);
    return left < REPAIRS ? 0 : REPAIR_INTERVAL_MS - (since % REPAIR_INTERVAL_MS);
  }

  /** After `remember`: the repair counts from now. */
  repaired(id: string): void {
    const known = this.#memories.get(id);
    if (known === undefined) return;
    const now = this.#clock.monotonic();
    const paid = Math.floor((now - known.repairedAt) / REPAIR_INTERVAL_MS);
    known.repairs = Math.max(0, known.repairs - paid) + 1;
    known.repairedAt = now;
  }
}
