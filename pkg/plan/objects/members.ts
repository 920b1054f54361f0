/** The places of a cluster, in an order that never changes: by shard, then by member. */
import { MAX_PODS } from "../../api/cluster-spec.ts";
import type { ResolvedClusterSpec } from "../../api/resolve.ts";
import type { MemberRef } from "./names.ts";

export type Shape = Pick<ResolvedClusterSpec, "masterCount" | "replicasPerMaster">;

export function membersOf(shape: Shape): MemberRef[] {
  return shardsOf(shape).flatMap((shard) => membersOfShard(shape, shard));
}

/**
 * The number of a member that is in a shard for the time of a change only (`update.strategy: Surge`). No other can have it:
 * with so many replicas a cluster would be too large.
 */
const SPARE_MEMBER = MAX_PODS - 1;

export function isSpare({ member }: Pick<MemberRef, "member">): boolean {
  return member === SPARE_MEMBER;
}

export function spareOf(shard: number): MemberRef {
  return { shard, member: SPARE_MEMBER };
}

export function shardsOf({ masterCount }: Shape): number[] {
  return Array.from({ length: masterCount }, (_, shard) => shard);
}

export function membersOfShard({ replicasPerMaster }: Shape, shard: number): MemberRef[] {
  return Array.from({ length: 1 + replicasPerMaster }, (_, member) => ({ shard, member }));
}

/** More voters than this add messages and no safety that matters. */
const MOST_VOTERS = 9;

/**
 * Whose agents grant leases: an odd number, one of each shard before a second of any. Of six voters four would be needed, of
 * five only three. Who votes does not depend on who is primary, so that a failover never changes it and any two majorities
 * share a voter. Nor does it depend on who is there for a while only: spares never vote.
 */
export function votersOf<T extends MemberRef>(members: readonly T[]): readonly T[] {
  const inOrder = members
    .filter((member) => !isSpare(member))
    .toSorted((a, b) => a.member - b.member || a.shard - b.shard);
  return inOrder.slice(0, votersAmong(inOrder.length));
}

function votersAmong(members: number): number {
  const most = Math.min(MOST_VOTERS, members);
  return most - Number(most % 2 === 0);
}

/** The same for one of many, without a list of them. */
export function isVoter({ masterCount, replicasPerMaster }: Shape, place: MemberRef): boolean {
  const before = place.member * masterCount + place.shard;
  return !isSpare(place) && before < votersAmong(masterCount * (1 + replicasPerMaster));
}
