/** A voter: keeps, for each shard, who may have its write lease, and gives it to nobody else. */
import type { Context, Output, Persisted } from "./context.ts";
import { firstUnmet, type Hold } from "./demand.ts";
import { laterMemory, NOTHING_KNOWN, type RememberedShard, type ShardMemory } from "./memory.ts";
import type { Ask, Release, Renew } from "./message.ts";
import { leaseWaitMs } from "./timing.ts";

/** Whom the lease was given to last. */
export interface Grant {
  readonly holder: string;
  /**
   * A lease lets its holder's server take writes. A promise lets a candidate begin an election, and no more. A free one
   * was given up by its holder, to `successor` if one is named.
   */
  readonly kind: "lease" | "promise" | "free";
  readonly at: number;
  /** In which epoch it was given. */
  readonly epoch: number;
  readonly successor: string | undefined;
  /** Whether its agent is known to have ended since. */
  readonly agentGone: boolean;
  /** Whether its server is known to answer without an agent that renews; cleared by a renewal. */
  readonly unguarded: boolean;
}

export interface VotedShard {
  readonly memory: ShardMemory;
  readonly grant: Grant | undefined;
}

export interface VoterState {
  readonly bornAt: number;
  /** Whether it knows what it, or its like before it, has granted. */
  readonly remembers: boolean;
  readonly shards: readonly VotedShard[];
  /** When each node's server last answered a probe. */
  readonly answeredAt: ReadonlyMap<string, number>;
  readonly probedAt: number;
}

/** What a voter decides on: somebody asks for a shard's lease. */
export interface ClaimFacts {
  readonly context: Context;
  readonly voter: VoterState;
  readonly shard: VotedShard;
  readonly claim: Renew | Ask;
}

export type Verdict = { readonly hold: Hold } | { readonly voter: VoterState };

const NOT_VOTED: VotedShard = { memory: NOTHING_KNOWN, grant: undefined };

export function bornVoter(shards: number, now: number, persisted: Persisted | undefined): VoterState {
  const blank = { bornAt: now, answeredAt: new Map(), probedAt: now };
  if (persisted === undefined) {
    return { ...blank, remembers: false, shards: Array.from({ length: shards }, () => NOT_VOTED) };
  }
  return { ...blank, remembers: true, shards: persisted.shards.map((shard) => asJustGranted(shard, now)) };
}

/** A restarted voter counts as having just granted, to the one it knows of. */
export function asJustGranted({ memory, holder, promise, grantEpoch }: RememberedShard, now: number): VotedShard {
  if (holder === undefined) return { memory, grant: undefined };
  return { memory, grant: leaseFor({ holder, kind: promise ? "promise" : "lease", at: now, epoch: grantEpoch }) };
}

export function remembered({ memory, grant }: VotedShard): RememberedShard {
  const grantEpoch = grant?.epoch ?? 0;
  // A lease that was given up is nobody's, or promised to the successor.
  const holder = grant?.kind === "free" ? grant.successor : grant?.holder;
  return { memory, holder, promise: holder !== undefined && grant?.kind !== "lease", grantEpoch };
}

/** Whom it has granted leases to, of any shard. */
export function holdersOf({ shards }: VoterState): readonly string[] {
  return shards.flatMap(({ grant }) => (grant?.kind === "lease" ? [grant.holder] : []));
}

export function votedShard(voter: VoterState, shard: number): VotedShard {
  return voter.shards[shard] ?? NOT_VOTED;
}

export function withShard(voter: VoterState, shard: number, value: VotedShard): VoterState {
  return { ...voter, shards: voter.shards.with(shard, value) };
}

export function considerRenewal(context: Context, voter: VoterState, claim: Renew): Verdict {
  const shard = votedShard(voter, claim.shard);
  const hold = firstUnmet(context.rules.grant, { context, voter, shard, claim });
  if (hold !== undefined) return { hold };
  const memory = laterMemory(shard.memory, { epoch: claim.epoch, inSync: claim.inSync });
  const grant = leaseFor({ holder: claim.from, kind: "lease", at: context.now, epoch: claim.epoch });
  return { voter: withShard(voter, claim.shard, { memory, grant }) };
}

/** A consent is a promise: from now on the lease is the candidate's. */
export function considerAsk(context: Context, voter: VoterState, claim: Ask): Verdict {
  const shard = votedShard(voter, claim.shard);
  const hold = firstUnmet(context.rules.consent, { context, voter, shard, claim });
  if (hold !== undefined) return { hold };
  if (!context.rules.promiseBinds) return { voter };
  const grant = leaseFor({ holder: claim.from, kind: "promise", at: context.now, epoch: claim.epoch });
  return { voter: withShard(voter, claim.shard, { ...shard, grant }) };
}

export function takeRelease(context: Context, voter: VoterState, release: Release): VoterState {
  const shard = votedShard(voter, release.shard);
  if (shard.grant?.holder !== release.from || shard.grant.kind === "free") return voter;
  const grant: Grant = { ...shard.grant, kind: "free", at: context.now, successor: release.successor };
  return withShard(voter, release.shard, { ...shard, grant });
}

function leaseFor(given: Pick<Grant, "holder" | "kind" | "at" | "epoch">): Grant {
  return { ...given, successor: undefined, agentGone: false, unguarded: false };
}

/** A server that answers although its agent has stopped renewing: nobody would fence it. */
export function takeProbe(context: Context, voter: VoterState, node: string): VoterState {
  const answeredAt = new Map(voter.answeredAt).set(node, context.now);
  const { leaseMs, unguardedAfter } = context.rules.timing;
  const shards = voter.shards.map((shard) => {
    const { grant } = shard;
    if (grant?.kind !== "lease" || grant.holder !== node) return shard;
    if (!grant.agentGone && context.now - grant.at <= leaseMs * unguardedAfter) return shard;
    return { ...shard, grant: { ...grant, unguarded: true } };
  });
  return { ...voter, answeredAt, shards };
}

/** The connection to an agent was closed by its end: if the server that it guarded still answers, it is unguarded. */
export function takeAgentGone(voter: VoterState, node: string): [VoterState, Output[]] {
  const concerned = voter.shards.some(({ grant }) => grant?.kind === "lease" && grant.holder === node);
  if (!concerned) return [voter, []];
  const shards = voter.shards.map((shard) =>
    shard.grant?.holder === node ? { ...shard, grant: { ...shard.grant, agentGone: true } } : shard,
  );
  return [{ ...voter, shards }, [{ do: "probe", node }]];
}

/** Asks after the servers of holders that have stopped renewing. */
export function probeSilentHolders(context: Context, voter: VoterState): [VoterState, Output[]] {
  const { leaseMs, unguardedAfter, askEveryMs } = context.rules.timing;
  if (context.now - voter.probedAt < askEveryMs) return [voter, []];
  const silent = voter.shards.flatMap(({ grant }) => {
    if (grant?.kind !== "lease" || grant.holder === context.self.node) return [];
    return context.now - grant.at > leaseMs * unguardedAfter ? [grant.holder] : [];
  });
  if (silent.length === 0) return [voter, []];
  return [{ ...voter, probedAt: context.now }, silent.map((node): Output => ({ do: "probe", node }))];
}

/** Whether a blank voter may begin to ask what was granted: what its forgotten self granted has run out. */
export function forgottenGrantsRanOut({ rules, now }: Context, voter: VoterState): boolean {
  return now - voter.bornAt > leaseWaitMs(rules.timing) * Number(rules.restartedVoterWaits);
}
