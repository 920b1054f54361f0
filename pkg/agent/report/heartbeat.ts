/**
 * Tells the operator every few seconds that this node is there. The state goes along only when it is not what the leader
 * heard last. Nothing waits for it: an operator that is away is tried less and less often.
 */
import { type Clock } from "../../clock/clock.ts";
import { Wakeup } from "../../clock/wakeup.ts";
import type { Logger } from "../../log/log.ts";
import type { NodeState } from "../../rpc/gen/valkey/agent/v1/state_pb.ts";
import { withoutCounters } from "../node-state.ts";
import type { OperatorLink } from "./operator-link.ts";

export interface HeartbeatOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly random: () => number;
  readonly link: OperatorLink;
  readonly bootId: string;
  readonly state: () => Promise<NodeState>;
  /** Called before each regular one: what is to be looked at as often as it is told. */
  readonly before: (signal: AbortSignal) => Promise<void>;
  /** Defaults to 5 s. */
  readonly everyMs?: number;
}

const DEADLINE_MS = 3000;
const LONGEST_MS = 30_000;
/** News are told at once, but not in a flood. */
const BETWEEN_NEWS_MS = 150;
/** Not all agents of a fleet at the same moment. */
const JITTER = 0.2;
/** A leader that lost its memory must not have to wait for a change. */
const WHOLE_EVERY = 12;

export class Heartbeat {
  readonly #options: HeartbeatOptions;
  readonly #news = new Wakeup();
  #sequence = 0n;
  #failures = 0;
  #fresh = false;
  /** What the leader heard last, and where. */
  #heard: { readonly state: string; readonly url: string } | undefined;
  #sinceWhole = 0;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
  }

  /** How often in a row nobody answered. */
  get failures(): number {
    return this.#failures;
  }

  /** Something changed that the operator should not hear of in five seconds only. */
  poke(): void {
    this.#fresh = true;
    this.#news.notify();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, before } = this.#options;
    let dueAt = clock.monotonic();
    while (!signal.aborted) {
      const regular = clock.monotonic() >= dueAt;
      this.#fresh = false;
      if (regular) await before(signal);
      await this.#beat(!regular, signal);
      // News do not put it off: however many there are, and whether or not they had to be told, the next one comes.
      if (regular) dueAt = clock.monotonic() + this.#pauseMs();
      await this.#news.wait(clock, BETWEEN_NEWS_MS, signal, () => false);
      await this.#news.wait(clock, dueAt - clock.monotonic(), signal, () => this.#fresh && this.#failures < 3);
    }
  }

  #pauseMs(): number {
    const { everyMs = 5000, random } = this.#options;
    const backedOff = Math.min(LONGEST_MS, everyMs * 2 ** Math.max(0, this.#failures - 2));
    return backedOff * (1 - JITTER + 2 * JITTER * random());
  }

  /** With news only: nothing is sent when the leader knows them already. */
  async #beat(onlyNews: boolean, signal: AbortSignal): Promise<void> {
    const state = await this.#options.state().catch((error: unknown) => {
      this.#options.log.error({ err: error }, "the state of the node cannot be told");
      return undefined;
    });
    if (state === undefined) return;
    const plain = withoutCounters(state);
    if (onlyNews && this.#knows(plain)) return;
    const moved = await this.#send(state, plain, signal);
    // Whoever answered was not the leader and said who is: it should hear it too.
    if (moved) await this.#send(state, plain, signal);
  }

  #knows(plain: string): boolean {
    return this.#heard?.state === plain && this.#heard.url === this.#options.link.url;
  }

  async #send(state: NodeState, plain: string, signal: AbortSignal): Promise<boolean> {
    const { link, bootId, log } = this.#options;
    const { url } = link;
    const whole = !this.#knows(plain) || this.#sinceWhole >= WHOLE_EVERY;
    this.#sequence += 1n;
    try {
      const request = { bootId, sequence: this.#sequence, ...(whole ? { state } : {}) };
      const { leading, leaderUrl } = await link.client.heartbeat(request, { timeoutMs: DEADLINE_MS, signal });
      if (this.#failures > 0) log.info({ url }, "the operator answers again");
      this.#failures = 0;
      this.#sinceWhole = whole ? 0 : this.#sinceWhole + 1;
      if (leading) this.#heard = { state: plain, url };
      return !leading && link.leaderIs(leaderUrl);
    } catch (error) {
      if (signal.aborted) return false;
      this.#failures += 1;
      link.lost();
      this.#heard = undefined;
      if (this.#failures === 1) log.warn({ url, why: text(error) }, "the operator does not answer");
      return false;
    }
  }
}

function text(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
