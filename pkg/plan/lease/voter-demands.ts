/** What a voter demands before it gives a shard's lease to somebody. */
import type { Demand } from "./demand.ts";
import { leaseWaitMs, promiseWaitMs } from "./timing.ts";
import type { ClaimFacts, Grant } from "./voter.ts";

const REMEMBERS: Demand<ClaimFacts> = {
  name: "voter-remembers",
  unmet: ({ voter }) =>
    voter.remembers ? undefined : "this agent is new and has not learned yet what was granted before it",
};

const EPOCH_NOT_LOWER: Demand<ClaimFacts> = {
  name: "epoch-not-lower",
  unmet: ({ shard, claim }) =>
    claim.epoch >= shard.memory.epoch
      ? undefined
      : `${claim.from} asks with epoch ${claim.epoch}, and the shard has reached ${shard.memory.epoch}`,
};

const LEASE_FREE: Demand<ClaimFacts> = {
  name: "lease-free",
  unmet: (facts) => {
    const { grant } = facts.shard;
    if (grant === undefined || grant.holder === facts.claim.from) return undefined;
    if (facts.context.lost.has(grant.holder)) return undefined;
    return keptBy(facts, grant);
  },
};

function keptBy({ context, claim }: ClaimFacts, grant: Grant): string | undefined {
  const age = context.now - grant.at;
  if (grant.kind === "free") {
    if (grant.successor === undefined || grant.successor === claim.from) return undefined;
    return age > leaseWaitMs(context.rules.timing) ? undefined : `it was handed over to ${grant.successor}`;
  }
  const wait = grant.kind === "promise" ? promiseWaitMs(context.rules.timing) : leaseWaitMs(context.rules.timing);
  return age > wait ? undefined : `it was given to ${grant.holder} ${Math.round(age)} ms ago`;
}

const OLD_SERVER_GUARDED: Demand<ClaimFacts> = {
  name: "old-server-guarded",
  unmet: ({ context, voter, shard, claim }) => {
    const { grant } = shard;
    if (grant?.kind !== "lease" || !grant.unguarded) return undefined;
    if (grant.holder === claim.from || context.lost.has(grant.holder)) return undefined;
    const { unguardedSilence, nodeTimeoutMs } = context.rules.timing;
    const silence = context.now - (voter.answeredAt.get(grant.holder) ?? voter.bornAt);
    if (silence > unguardedSilence * nodeTimeoutMs) return undefined;
    return `the server of ${grant.holder} answered without an agent that guards it ${Math.round(silence)} ms ago`;
  },
};

/**
 * Who renews with a higher epoch than that of the grant was promoted with the promises of a majority, which gives the old holder nothing any more.
 * Without this, a voter that heard of no promise would wait for ever for the silence of a server that is a replica now.
 */
function unlessPromoted({ name, unmet }: Demand<ClaimFacts>): Demand<ClaimFacts> {
  const isPromoted = ({ claim, shard }: ClaimFacts) => claim.epoch > (shard.grant?.epoch ?? shard.memory.epoch);
  return { name, unmet: (facts) => (isPromoted(facts) ? undefined : unmet(facts)) };
}

/** For a renewal, by who is or says to be the primary. */
export const GRANT_DEMANDS: readonly Demand<ClaimFacts>[] = [
  REMEMBERS,
  EPOCH_NOT_LOWER,
  unlessPromoted(LEASE_FREE),
  unlessPromoted(OLD_SERVER_GUARDED),
];

/** For a promise to a candidate. */
export const CONSENT_DEMANDS: readonly Demand<ClaimFacts>[] = [
  REMEMBERS,
  EPOCH_NOT_LOWER,
  LEASE_FREE,
  OLD_SERVER_GUARDED,
];
