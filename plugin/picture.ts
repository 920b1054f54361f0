/** One picture of a cluster, put together from what was read; what every command shows a part of. */
import type { ClusterObject, ClusterStatus, NodeObject, PodObject } from "./cluster-objects.ts";
import { type NodePicture, nodeOf } from "./node-picture.ts";

export interface ShardPicture {
  readonly index: number;
  readonly slots: string;
  readonly slotCount: number;
  readonly primary?: string | undefined;
  /** The primary first. */
  readonly nodes: readonly NodePicture[];
  /** Whether its primary serves and every node is ready. */
  readonly healthy: boolean;
}

export interface Picture {
  readonly name: string;
  readonly namespace: string;
  /** Whether the operator says Ready of the newest spec. */
  readonly healthy: boolean;
  readonly deleting: boolean;
  /** Whether the operator has looked at the newest spec. */
  readonly seen: boolean;
  readonly suspended: boolean;
  readonly status: ClusterStatus | undefined;
  readonly shards: readonly ShardPicture[];
}

export interface Read {
  readonly cluster: ClusterObject;
  readonly nodes: readonly NodeObject[];
  /** Undefined when the caller may not read pods. */
  readonly pods: readonly PodObject[] | undefined;
}

export function pictureOf({ cluster, nodes, pods }: Read): Picture {
  const { metadata, spec, status } = cluster;
  const { name, namespace = "", generation = 0, deletionTimestamp } = metadata;
  const seen = status !== undefined && (status.observedGeneration ?? 0) >= generation;
  const ready = status?.conditions.find(({ type }) => type === "Ready");
  return {
    name,
    namespace,
    healthy: seen && ready?.status === "True" && deletionTimestamp === undefined,
    deleting: deletionTimestamp !== undefined,
    seen,
    suspended: spec.suspended === true,
    status,
    shards: shardsOf(status, nodes, podsByNode(pods ?? [])),
  };
}

function podsByNode(pods: readonly PodObject[]): ReadonlyMap<string, PodObject> {
  const byAge = pods.toSorted((a, b) =>
    (a.metadata.creationTimestamp ?? "").localeCompare(b.metadata.creationTimestamp ?? ""),
  );
  // Of two pods of one node the younger counts: the other is on its way out.
  return new Map(byAge.map((pod) => [pod.metadata.labels?.["valkey.io/node"] ?? "", pod]));
}

function shardsOf(
  status: ClusterStatus | undefined,
  nodes: readonly NodeObject[],
  pods: ReadonlyMap<string, PodObject>,
): ShardPicture[] {
  const told = new Map((status?.shards ?? []).map((shard) => [shard.index, shard]));
  const grouped = Map.groupBy(nodes, ({ spec }) => spec.shard);
  const indexes = [...new Set([...told.keys(), ...grouped.keys()])].toSorted((a, b) => a - b);
  return indexes.map((index) => {
    const shard = told.get(index);
    const members = (grouped.get(index) ?? []).map((node) => nodeOf(node, shard, pods.get(node.metadata.name)));
    const ordered = members.toSorted((a, b) => rank(a) - rank(b) || a.member - b.member);
    const slots = shard?.slots ?? "";
    return {
      index,
      slots,
      slotCount: countSlots(slots),
      primary: shard?.primary,
      nodes: ordered,
      healthy:
        shard?.primary !== undefined && slots !== "" && ordered.length > 0 && ordered.every((node) => node.ready),
    };
  });
}

function rank({ role }: NodePicture): number {
  return role === "primary" ? 0 : 1;
}

/** `0-5461,6000` is 5463 slots. */
export function countSlots(ranges: string): number {
  return ranges
    .split(",")
    .map((range) => range.trim())
    .filter((range) => range !== "")
    .map((range) => range.split("-").map(Number))
    .reduce((sum, [first = 0, last = first]) => sum + (last - first + 1), 0);
}
