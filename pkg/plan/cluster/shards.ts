/** A cluster's shards as people want to see them. */
import type { ValkeyClusterStatus } from "../../api/cluster-status.ts";
import { ownsSlots, stateOf, tableOf } from "../formation/member.ts";
import { countSlots, type SlotRange, slotsText } from "../formation/slots.ts";
import type { MemberView } from "../formation/view.ts";

export interface ShardNow {
  readonly index: number;
  readonly members: readonly MemberView[];
  readonly primary: MemberView | undefined;
  readonly slots: readonly SlotRange[];
  /** Whether its primary takes writes. */
  readonly serves: boolean;
  /** Whether every member runs, follows the primary and has all of its data. */
  readonly whole: boolean;
}

export function shardsNow(members: readonly MemberView[]): readonly ShardNow[] {
  const shards = Map.groupBy(members, ({ shard }) => shard);
  return [...shards].map(([index, all]) => shardNow(index, all)).toSorted((a, b) => a.index - b.index);
}

function shardNow(index: number, members: readonly MemberView[]): ShardNow {
  const owners = members.filter((member) => ownsSlots(tableOf(member)));
  const primary = owners.length === 1 ? owners[0] : undefined;
  const table = primary === undefined ? undefined : tableOf(primary);
  const serves = table?.ok === true;
  const whole = serves && members.every((member) => member === primary || isInSync(member, table.id));
  return { index, members, primary, slots: table?.slots ?? [], serves, whole };
}

export function isInSync(member: MemberView, primaryId: string): boolean {
  const table = tableOf(member);
  if (table?.role !== "replica" || table.primaryId !== primaryId) return false;
  return stateOf(member)?.replication?.inSync === true;
}

export function servedSlots(shards: readonly ShardNow[]): number {
  return shards.filter(({ serves }) => serves).reduce((sum, { slots }) => sum + countSlots(slots), 0);
}

export function shardStatus(
  { index, members, primary, slots }: ShardNow,
  zoneOf: (node: string) => string | undefined,
): NonNullable<ValkeyClusterStatus["shards"]>[number] {
  const id = primary === undefined ? "" : (tableOf(primary)?.id ?? "");
  const replicas = members
    .filter((member) => member !== primary)
    .map((member) => {
      const inSync = isInSync(member, id);
      return { name: member.name, inSync, ...(inSync ? { lagBytes: 0 } : {}) };
    });
  const zone = primary === undefined ? undefined : zoneOf(primary.name);
  return {
    index,
    ...(primary === undefined ? {} : { primary: primary.name }),
    replicas,
    ...(slots.length === 0 ? {} : { slots: slotsText(slots) }),
    ...(zone === undefined ? {} : { zone }),
  };
}
