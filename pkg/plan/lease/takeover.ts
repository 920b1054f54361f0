/** Whether enough primaries may run to elect one, or whether the candidate has to take over without a vote. */
import type { Context } from "./context.ts";
import { majorityOf } from "./context.ts";
import type { Standing } from "./copy.ts";

type Spoken = ReadonlyMap<string, Standing>;

/** What came with a voter's promise. */
export interface Told {
  readonly standing: Standing;
  readonly holders: readonly string[];
}

/** A takeover needs that so many shards are proven to have nobody who votes that no vote can succeed; whoever is unknown may. */
export function promotionKind(context: Context, members: Spoken, told: readonly Told[]): "FORCE" | "TAKEOVER" {
  const spoken = new Map([...members, ...told.map(({ standing }) => [standing.node, standing] as const)]);
  const holders = new Set(told.flatMap((voter) => voter.holders));
  const { shards } = context.deployment;
  let mayVote = 0;
  for (let shard = 0; shard < shards; shard += 1) {
    const led =
      mayRunAsPrimary(context, spoken, context.server.owners[shard]) || isHeld(context, spoken, holders, shard);
    if (led && !isLeaderless(context, spoken, shard)) mayVote += 1;
  }
  return mayVote >= majorityOf(shards) ? "FORCE" : "TAKEOVER";
}

/**
 * The table of a server that has just started is that of its disk. Whoever leads since has its lease from a majority, and
 * one of those who promised is of it.
 */
function isHeld(context: Context, spoken: Spoken, holders: ReadonlySet<string>, shard: number): boolean {
  return context.deployment.members.some(({ node, shard: of }) => {
    if (of !== shard || node === context.self.node || !holders.has(node)) return false;
    const standing = spoken.get(node);
    return (standing === undefined || !isReplica(standing)) && mayRunAsPrimary(context, spoken, node);
  });
}

function mayRunAsPrimary(context: Context, spoken: Spoken, owner: string | undefined): boolean {
  if (owner === undefined || context.lost.has(owner)) return false;
  const standing = spoken.get(owner);
  return standing === undefined ? !context.stopped.has(owner) : !isStopped(standing);
}

/**
 * The owner by our table may run as a replica: one that was replaced while we were away. Where every member has spoken and
 * none leads, nobody votes; and two such shards would wait for each other's vote for ever.
 */
function isLeaderless({ deployment, lost, stopped, self }: Context, spoken: Spoken, shard: number): boolean {
  return deployment.members.every((member) => {
    if (member.shard !== shard || member.node === self.node || lost.has(member.node)) return true;
    const standing = spoken.get(member.node);
    if (standing === undefined) return stopped.has(member.node);
    return isStopped(standing) || isReplica(standing);
  });
}

function isStopped({ phase }: Standing): boolean {
  return phase === "gated" || phase === "absent";
}

function isReplica({ phase, role }: Standing): boolean {
  return phase === "running" && role === "replica";
}
