/**
 * How often a difference is mended that comes back. Somebody who keeps changing a setting gets it put back five times;
 * after that only every 30 s, and shown as not repaired in between: two who fight must not become a storm, nor go unseen.
 */
import type { Clock } from "../../clock/clock.ts";

const AT_ONCE = 5;
const THEN_EVERY_MS = 30_000;
/** A difference that stayed away so long begins anew. */
const FORGIVEN_AFTER_MS = 120_000;

interface Record {
  count: number;
  at: number;
}

export class RepairBudget {
  readonly #clock: Clock;
  readonly #records = new Map<string, Record>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether to mend it now; saying yes counts. */
  take(key: string): boolean {
    const now = this.#clock.monotonic();
    const record = this.#records.get(key);
    if (record === undefined || now - record.at > FORGIVEN_AFTER_MS) {
      this.#forget(now);
      this.#records.set(key, { count: 1, at: now });
      return true;
    }
    if (record.count >= AT_ONCE && now - record.at < THEN_EVERY_MS) return false;
    record.count++;
    record.at = now;
    return true;
  }

  #forget(now: number): void {
    for (const [key, { at }] of this.#records) if (now - at > FORGIVEN_AFTER_MS) this.#records.delete(key);
  }
}
