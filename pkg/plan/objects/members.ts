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
