/**
 * One period of leading. Whoever commands something asks `check()` right before: it refuses once the last renewal is
 * older than the renew deadline, whatever the process knows by then. So one that was frozen and thawed refuses before
 * it has read a single byte from the network.
 *
 * The age is the longer of what the monotonic and the wall clock say: the first is not moved by anybody, the second
 * also counts a machine that was suspended.
 */
import type { Clock } from "../clock/clock.ts";

export class LeadershipLost extends Error {
  override readonly name = "LeadershipLost";
}

export interface TermOptions {
  readonly clock: Clock;
  readonly token: number;
  readonly renewDeadlineMs: number;
  /** When the request that acquired the lease was sent. */
  readonly since: Moment;
}

export interface Moment {
  readonly monotonic: number;
  readonly wall: number;
}

export function momentOf(clock: Clock): Moment {
  return { monotonic: clock.monotonic(), wall: clock.wall() };
}

export class Term {
  /** The fencing token: higher than that of every earlier term of anybody. */
  readonly token: number;
  readonly #options: TermOptions;
  readonly #abort = new AbortController();
  #renewed: Moment;

  constructor(options: TermOptions) {
    this.token = options.token;
    this.#options = options;
    this.#renewed = options.since;
  }

  /** Aborted when the term is over, with the reason. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** How long this term is good for without another renewal; 0 when it is over. */
  remainingMs(): number {
    if (this.#abort.signal.aborted) return 0;
    const { clock, renewDeadlineMs } = this.#options;
    const now = momentOf(clock);
    const age = Math.max(now.monotonic - this.#renewed.monotonic, now.wall - this.#renewed.wall);
    return Math.max(0, renewDeadlineMs - age);
  }

  valid(): boolean {
    return this.remainingMs() > 0;
  }

  /** Throws LeadershipLost unless this process surely leads at this moment; gives the token for the command. */
  check(): number {
    if (this.valid()) return this.token;
    this.end("the lease was not renewed in time");
    const reason: unknown = this.#abort.signal.reason;
    throw reason instanceof LeadershipLost ? reason : new LeadershipLost("this replica does not lead any more");
  }

  /** By the elector: a renewal that was sent at `sent` succeeded. */
  renewed(sent: Moment): void {
    this.#renewed = sent;
  }

  end(reason: string): void {
    this.#abort.abort(new LeadershipLost(`term ${this.token} is over: ${reason}`));
  }
}
