/**
 * Says in the log what decides over a failover that did not come: which copies a primary counts as in sync, when that
 * changes; why a replica whose primary is out of reach does not lead, when that begins and when the reason changes; and
 * what a handover waits for while writes wait.
 */
import type { Logger } from "../../log/log.ts";
import type { CandidateState } from "../../plan/lease/candidate.ts";
import type { HandoverState } from "../../plan/lease/handover.ts";
import type { HolderState } from "../../plan/lease/holder.ts";

/** Of one orphaned time: reasons that come and go in turns are told often enough by then. */
const MOST_REASONS = 10;

export class HoldLog {
  readonly #log: Logger;
  #said = "";
  #reasons = 0;
  #inSync = "";
  #handover = "";

  constructor(log: Logger) {
    this.#log = log;
  }

  note({ orphanSince, hold }: CandidateState): void {
    if (orphanSince === undefined) return this.#led();
    const why = hold?.reason ?? "it asks for promises";
    if (why === this.#said || this.#reasons >= MOST_REASONS) return;
    this.#said = why;
    this.#reasons += 1;
    this.#log.info({ hold: hold?.name ?? "asks", why }, "the shard's primary is out of reach");
  }

  /** Of a primary that renews its lease. */
  noteInSync({ inSync: { members }, renewedAt }: HolderState): void {
    const nodes = members.map(({ node }) => node);
    if (renewedAt === Number.NEGATIVE_INFINITY || nodes.join() === this.#inSync) return;
    this.#inSync = nodes.join();
    this.#log.info({ nodes }, "copies in sync");
  }

  /** What changes with every look, how far the successor is, is told once. */
  noteHandover({ stage, hold, successor }: HandoverState): void {
    const now = stage === "none" ? "" : `${stage} ${hold?.name ?? ""}`;
    if (now === this.#handover) return;
    this.#handover = now;
    this.#log.info({ stage, successor, why: hold?.reason }, "handover");
  }

  #led(): void {
    if (this.#said !== "") this.#log.info("the shard has a primary again");
    this.#said = "";
    this.#reasons = 0;
  }
}
