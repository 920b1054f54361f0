/**
 * All that the agents' decisions rest on, in one value: times, orders and named demands. The real agents use `RULES`; the
 * simulator also runs changed ones, to show that each part is needed.
 */
import type { CandidateFacts } from "./candidate.ts";
import { CANDIDATE_DEMANDS } from "./candidate-demands.ts";
import { majorityOf } from "./context.ts";
import { RANKS, type Rank, type Standing } from "./copy.ts";
import type { Demand } from "./demand.ts";
import { DISREGARD_DEMANDS, type DisregardFacts } from "./disregard.ts";
import { type GateFacts, mayLead } from "./gate.ts";
import { GATE_ALONE_DEMANDS, GATE_BESIDE_DEMANDS } from "./gate-demands.ts";
import type { HandoverFacts } from "./handover.ts";
import { HANDOVER_DEMANDS } from "./handover-demands.ts";
import { TIMING, type Timing } from "./timing.ts";
import type { ClaimFacts } from "./voter.ts";
import { CONSENT_DEMANDS, GRANT_DEMANDS } from "./voter-demands.ts";

export interface Rules {
  readonly timing: Timing;
  /** How many of so many voters are enough. */
  readonly majority: (voters: number) => number;
  /** How copies are told apart, the most telling first. */
  readonly ranks: readonly Rank[];
  /** Whom a server that passes the gate may follow. */
  readonly mayLead: (peer: Standing) => boolean;
  /** Before a voter grants a renewal. */
  readonly grant: readonly Demand<ClaimFacts>[];
  /** Before a voter gives a promise. */
  readonly consent: readonly Demand<ClaimFacts>[];
  /** Before a replica asks for promises, and again before it begins the election. */
  readonly candidate: readonly Demand<CandidateFacts>[];
  /** Before a server passes the gate beside a primary that holds the lease. */
  readonly gateBeside: readonly Demand<GateFacts>[];
  /** Before a server passes the gate with nobody to follow. */
  readonly gateAlone: readonly Demand<GateFacts>[];
  /** Before a primary gives its lease to a successor. */
  readonly handover: readonly Demand<HandoverFacts>[];
  /** Before a member says that nothing counts for it that an earlier boot of a voter has granted. */
  readonly disregard: readonly Demand<DisregardFacts>[];
  /** Whether a consent moves the lease to the candidate. */
  readonly promiseBinds: boolean;
  /** Whether a voter that was born without memory waits until what it may have granted has run out. */
  readonly restartedVoterWaits: boolean;
  /** Whether a server that won an election without a lease has to leave the cluster. */
  readonly winnerNeedsLease: boolean;
  /** Whether the operator's word that a server is stopped counts only for those who are silent since, and were asked. */
  readonly wordNeedsSilence: boolean;
  /** Whether an in-sync set that too few remember counts for nothing. */
  readonly doubtsOldSets: boolean;
}

export const RULES: Rules = {
  timing: TIMING,
  majority: majorityOf,
  ranks: RANKS,
  mayLead,
  grant: GRANT_DEMANDS,
  consent: CONSENT_DEMANDS,
  candidate: CANDIDATE_DEMANDS,
  gateBeside: GATE_BESIDE_DEMANDS,
  gateAlone: GATE_ALONE_DEMANDS,
  handover: HANDOVER_DEMANDS,
  disregard: DISREGARD_DEMANDS,
  promiseBinds: true,
  restartedVoterWaits: true,
  winnerNeedsLease: true,
  wordNeedsSilence: true,
  doubtsOldSets: true,
};
