/**
 * Planted bugs: each is the rules with one of them left out or bent. The simulator must find every one; one that it does
 * not find is either a rule that is not needed or a hole in the simulator.
 */
import type { CandidateFacts } from "../plan/lease/candidate.ts";
import type { Rank } from "../plan/lease/copy.ts";
import { type Demand, without } from "../plan/lease/demand.ts";
import { RULES } from "../plan/lease/rules.ts";
import type { Timing } from "../plan/lease/timing.ts";
import type { Played } from "./world.ts";

export interface Mutation {
  readonly name: string;
  /** What is wrong, in words. */
  readonly bug: string;
  readonly rules: Played;
}

function mutation(name: string, bug: string, change: Partial<Played>): Mutation {
  return { name, bug, rules: { ...RULES, ...change } };
}

function timing(change: Partial<Timing>): Pick<Played, "timing"> {
  return { timing: { ...RULES.timing, ...change } };
}

/** Looks at offsets of those who happen to have spoken, and not at who was in sync or has not spoken. */
const BEST_THAT_SPOKE: Demand<CandidateFacts> = {
  name: "best-that-spoke",
  unmet: ({ own, peers }) => {
    const better = [...peers.values()].find(({ phase, offset }) => phase === "running" && offset > own.offset);
    return better === undefined ? undefined : `${better.node} has more`;
  },
};

const BY_TABLE_EPOCH: readonly Rank[] = RULES.ranks.map((rank) =>
  rank.name === "epoch-of-data" ? { name: "epoch-of-table", of: ({ tableEpoch }) => tableEpoch } : rank,
);

export const MUTATIONS: readonly Mutation[] = [
  mutation("half-is-enough", "half of the voters grant a lease", { majority: (voters) => Math.floor(voters / 2) }),
  mutation("no-wait", "voters do not wait for a lease to run out", timing({ waitFor: 0.3 })),
  mutation("no-margin", "fence and wait are both at one lease", timing({ fenceAt: 1, waitFor: 1 })),
  mutation("late-fence", "the holder fences after its lease", timing({ fenceAt: 1.3 })),
  mutation("short-promise", "a promise ends before the election can", timing({ promiseFor: 0.1 })),
  mutation("winner-without-lease", "a server that won an election late stays in the cluster", {
    winnerNeedsLease: false,
  }),
  mutation("always-in-sync", "a replica that is far behind counts as in sync", timing({ inSyncLagMs: 1e9 })),
  mutation("renewal-for-anybody", "a replaced primary may renew", {
    grant: without(without(RULES.grant, "epoch-not-lower"), "lease-free"),
  }),
  mutation("two-holders", "a renewal is granted while another's lease runs", {
    grant: without(RULES.grant, "lease-free"),
  }),
  mutation("consent-beside-holder", "a promise is given while another's lease runs", {
    consent: without(RULES.consent, "lease-free"),
  }),
  mutation("consent-without-promise", "a consent does not move the lease", { promiseBinds: false }),
  mutation("forgetful-voter", "a new voter grants at once", {
    grant: without(RULES.grant, "voter-remembers"),
    consent: without(RULES.consent, "voter-remembers"),
    restartedVoterWaits: false,
  }),
  mutation("believes-old-sets", "an in-sync set counts although too few remember", { doubtsOldSets: false }),
  mutation("unguarded-server", "a server without an agent counts as fenced", {
    consent: without(RULES.consent, "old-server-guarded"),
  }),
  mutation("force-without-check", "a replica is promoted whatever it has", {
    candidate: without(RULES.candidate, "copy-may-lead"),
  }),
  mutation("set-not-checked", "the best of those who spoke is promoted, in sync or not", {
    candidate: [...without(RULES.candidate, "copy-may-lead"), BEST_THAT_SPOKE],
  }),
  mutation("gate-opened-early", "a server starts before all members have spoken", {
    gateAlone: without(RULES.gateAlone, "all-have-spoken"),
  }),
  mutation("gate-opened-to-all", "a server starts beside a newer copy", {
    gateAlone: without(RULES.gateAlone, "newest-copy"),
  }),
  mutation("epoch-of-table", "a copy is as new as the table beside it says", { ranks: BY_TABLE_EPOCH }),
  mutation("offset-alone", "copies are compared by offset alone", {
    ranks: RULES.ranks.filter(({ name }) => name === "offset" || name === "lower-member"),
  }),
  mutation("follows-anybody", "a server follows a primary that has no lease", {
    mayLead: ({ phase, role }) => phase === "running" && role === "primary",
    gateBeside: without(RULES.gateBeside, "not-newer-than-primary"),
  }),
  mutation("handover-without-catching-up", "the lease is handed over before the successor has everything", {
    handover: without(RULES.handover, "successor-has-all"),
    candidate: without(RULES.candidate, "caught-up"),
  }),
  mutation("silence-is-proof", "the operator says that one is stopped because nobody hears of it", {
    silenceIsProof: true,
  }),
  mutation("old-word", "the operator's word that one is stopped counts although it answers", {
    wordNeedsSilence: false,
  }),
];
