/** The clock that leases are counted on: it never goes back, and goes on while the machine sleeps. */
import { readFileSync } from "node:fs";
import type { Clock } from "../../clock/clock.ts";

const MS = 1000;
/** The kernel is asked again after so long; in between, time passes as on the other clock, which stands still in a sleep. */
const ASK_MS = 50;
/** The kernel tells it in hundredths of a second: what differs by less is the same. */
const SAME_MS = 20;

export class BootClock {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #path: string;
  #askedAt = Number.NEGATIVE_INFINITY;
  #ahead = 0;

  constructor(clock: Pick<Clock, "monotonic">, path = "/proc/uptime") {
    this.#clock = clock;
    this.#path = path;
  }

  /** Milliseconds since the machine started. */
  now(): number {
    const now = this.#clock.monotonic();
    if (now - this.#askedAt >= ASK_MS) {
      const ahead = this.#uptimeMs() - now;
      if (Math.abs(ahead - this.#ahead) > SAME_MS) this.#ahead = ahead;
      this.#askedAt = now;
    }
    return now + this.#ahead;
  }

  #uptimeMs(): number {
    const [uptime = ""] = readFileSync(this.#path, "utf8").split(" ");
    const seconds = Number(uptime);
    if (!(seconds > 0)) throw new Error(`${this.#path} does not tell how long the machine has been up`);
    return seconds * MS;
  }
}
