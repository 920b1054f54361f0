/**
 * Tells the operator at once what cannot wait. Nobody waits for it: what cannot be told soon is dropped, and the next
 * heartbeat carries the state that came of it.
 */
import { type Clock, pause } from "../../clock/clock.ts";
import { Wakeup } from "../../clock/wakeup.ts";
import type { Logger } from "../../log/log.ts";
import type { NodeState } from "../../rpc/gen/valkey/agent/v1/state_pb.ts";
import type { OperatorLink } from "./operator-link.ts";

export type Reason =
  | "FilesSetAside"
  | "GateOpened"
  | "GateWaits"
  | "HandedOver"
  | "HandoverEnded"
  | "NotHandedOver"
  | "PodTerminating"
  | "Promoting"
  | "ServerDied"
  | "ServerKilled"
  | "ServerSilent"
  | "ServerStopped"
  | "SettingsLeftOut"
  | "WritesStopped";

export interface ReporterOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly link: OperatorLink;
  readonly bootId: string;
  readonly state: () => Promise<NodeState>;
}

interface News {
  readonly reason: Reason;
  readonly message: string;
  readonly since: number;
}

const DEADLINE_MS = 1000;
const RETRY_MS = 250;
/** After that it is no news any more. */
const STALE_MS = 30_000;
const MOST_WAITING = 16;

export class Reporter {
  readonly #options: ReporterOptions;
  readonly #wake = new Wakeup();
  readonly #waiting: News[] = [];
  #dropped = 0;

  constructor(options: ReporterOptions) {
    this.#options = options;
  }

  get dropped(): number {
    return this.#dropped;
  }

  tell(reason: Reason, message: string): void {
    this.#waiting.push({ reason, message, since: this.#options.clock.monotonic() });
    if (this.#waiting.length > MOST_WAITING) this.#drop();
    this.#wake.notify();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (!signal.aborted) {
      const [news] = this.#waiting;
      if (news === undefined) await this.#wake.wait(clock, 60_000, signal, () => this.#waiting.length > 0);
      else if (clock.monotonic() - news.since > STALE_MS) this.#drop();
      else if (await this.#send(news, signal)) this.#waiting.splice(this.#waiting.indexOf(news), 1);
      else await pause(clock, RETRY_MS, signal);
    }
  }

  #drop(): void {
    const news = this.#waiting.shift();
    this.#dropped += 1;
    this.#options.log.warn({ reason: news?.reason }, "the operator could not be told in time");
  }

  /** Says whether the leader has heard it: any other replica tells nobody. */
  async #send({ reason, message }: News, signal: AbortSignal): Promise<boolean> {
    const { link, bootId, state, log } = this.#options;
    try {
      const request = { bootId, reason, message, state: await state() };
      const { notLeading, leaderUrl } = await link.client.report(request, { timeoutMs: DEADLINE_MS, signal });
      if (notLeading) link.leaderIs(leaderUrl);
      return !notLeading;
    } catch (error) {
      link.lost();
      log.debug({ reason, why: error instanceof Error ? error.message : String(error) }, "report failed");
      return false;
    }
  }
}
