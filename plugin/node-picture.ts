/** One node of a cluster: its role, how it is, and where. */
import type { ClusterStatus, NodeObject, PodObject } from "./cluster-objects.ts";

export interface NodePicture {
  readonly name: string;
  readonly shard: number;
  readonly member: number;
  readonly role: "primary" | "replica" | "unknown";
  readonly ready: boolean;
  /** One or two words on how it is: `in sync`, `ImagePullBackOff`. */
  readonly state: string;
  readonly pod?: string | undefined;
  readonly machine?: string | undefined;
  readonly zone?: string | undefined;
  readonly lagBytes?: number | undefined;
  readonly restarts: number;
  readonly version?: string | undefined;
}

type ShardStatus = ClusterStatus["shards"][number];

export function nodeOf(node: NodeObject, shard: ShardStatus | undefined, pod: PodObject | undefined): NodePicture {
  const { name } = node.metadata;
  const told = shard?.replicas.find((replica) => replica.name === name);
  const role = roleOf(node, shard, told !== undefined);
  const ready = readyOf(node, pod);
  return {
    name,
    shard: node.spec.shard,
    member: node.spec.member,
    role,
    ready,
    state: stuckOf(pod) ?? (ready ? readyState(role, told?.inSync) : absence(node, pod)),
    ...placeOf(node, pod),
    lagBytes: told?.lagBytes,
    restarts: containersOf(pod).reduce((sum, { restartCount = 0 }) => sum + restartCount, 0),
    version: node.status.version,
  };
}

function placeOf({ status }: NodeObject, pod: PodObject | undefined): Pick<NodePicture, "pod" | "machine" | "zone"> {
  const { name, node, zone } = status.pod;
  return { pod: pod?.metadata.name ?? name, machine: pod?.spec.nodeName ?? node, zone };
}

function roleOf(node: NodeObject, shard: ShardStatus | undefined, listed: boolean): NodePicture["role"] {
  if (shard?.primary === node.metadata.name) return "primary";
  return listed || node.status.role === "replica" ? "replica" : "unknown";
}

function readyOf(node: NodeObject, pod: PodObject | undefined): boolean {
  const condition = pod?.status.conditions.find(({ type }) => type === "Ready");
  return condition === undefined ? node.status.ready === true : condition.status === "True";
}

function readyState(role: NodePicture["role"], inSync: boolean | undefined): string {
  if (role !== "replica" || inSync === undefined) return "ready";
  return inSync ? "in sync" : "syncing";
}

function absence(node: NodeObject, pod: PodObject | undefined): string {
  if (pod !== undefined || node.status.pod.name !== undefined) return "not ready";
  return node.spec.suspended === true ? "suspended" : "no pod";
}

function containersOf(pod: PodObject | undefined) {
  return pod === undefined ? [] : [...pod.status.initContainerStatuses, ...pod.status.containerStatuses];
}

/** What kubelet or the scheduler says, in their word: `ImagePullBackOff`, `Unschedulable`. */
function stuckOf(pod: PodObject | undefined): string | undefined {
  if (pod === undefined) return undefined;
  if (pod.metadata.deletionTimestamp !== undefined) return "going";
  const scheduled = pod.status.conditions.find(({ type }) => type === "PodScheduled");
  if (scheduled?.status === "False") return scheduled.reason ?? "unscheduled";
  const reasons = containersOf(pod).map(({ state }) => state?.waiting?.reason ?? state?.terminated?.reason);
  const known = reasons.find((reason) => reason !== undefined && reason !== "PodInitializing");
  return known === "ContainerCreating" ? "starting" : known;
}
