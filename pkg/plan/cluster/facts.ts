/** What the status and its conditions are made of: the cluster in numbers and in words. */
import type { ValkeyClusterStatus } from "../../api/cluster-status.ts";
import { allAcquainted } from "../formation/acquainted.ts";
import { stateOf } from "../formation/member.ts";
import { SLOTS } from "../formation/slots.ts";
import type { MemberView } from "../formation/view.ts";
import { type Trouble, troublesOf } from "../trouble/trouble.ts";
import { isTrue } from "./conditions.ts";
import type { ClusterPlan } from "./plan.ts";
import { type ShardNow, servedSlots, shardsNow } from "./shards.ts";
import type { ClusterView } from "./view.ts";

export interface StatusInput {
  readonly view: ClusterView;
  readonly plan: ClusterPlan;
  /** Why steps failed, as the API server said it. */
  readonly failures: readonly string[];
  readonly now: Date;
}

export interface ClusterNow {
  readonly shards: readonly ShardNow[];
  readonly served: number;
  readonly pods: number;
  readonly readyPods: number;
  readonly troubles: readonly Trouble[];
  readonly lookAgainMs: number | undefined;
  /** Whether everything that was asked for is there and works. */
  readonly whole: boolean;
  /** Whether all is there, and the nodes have not all found each other yet. */
  readonly meeting: boolean;
  /** Whether it was whole before, so that what is missing is missed. */
  readonly wasWhole: boolean;
  /** Whether every agent has applied the newest settings, and the newest secrets. */
  readonly configured: boolean;
  readonly secretsApplied: boolean;
  /** Whether a rolling change is under way or waits: what is missing for it is not missed. */
  readonly rolling: boolean;
}

export function clusterNow({ view, plan, failures, now }: StatusInput): ClusterNow {
  const shards = shardsNow(plan.members);
  const served = servedSlots(shards);
  const pods = view.nodes.flatMap(({ pod }) => (pod === undefined ? [] : [pod]));
  const readyPods = pods.filter(isReady).length;
  const { troubles, lookAgainMs } = troublesOf({ ...view.facts, failures }, now);
  const before = view.cluster.status;
  const { configuration, secrets } = view.desired;
  const configured = allApplied(plan, "configurationHash", configuration?.hash);
  const secretsApplied = allApplied(plan, "secretsHash", secrets?.hash);
  const complete = served === SLOTS && shards.every((shard) => shard.whole) && readyPods === view.nodes.length;
  const meeting = complete && !isTrue(before, "Ready") && !haveMet(plan.members);
  const whole = complete && !meeting;
  return {
    shards,
    served,
    pods: pods.length,
    readyPods,
    troubles,
    lookAgainMs,
    configured,
    secretsApplied,
    whole,
    meeting,
    wasWhole: wasWhole(before),
    rolling: isRolling(plan, before, whole),
  };
}

/** What is Ready already does not cease to be for a link that is lost: that others notice, if it is a loss. */
function haveMet(members: readonly MemberView[]): boolean {
  return allAcquainted(members);
}

/** The last pod is still on its way when none is outdated any more. */
function isRolling({ rollout }: ClusterPlan, before: ValkeyClusterStatus | undefined, whole: boolean): boolean {
  return rollout !== undefined && (rollout.progress !== undefined || (before?.rollout !== undefined && !whole));
}

function wasWhole(before: ValkeyClusterStatus | undefined): boolean {
  return isTrue(before, "Ready") || isTrue(before, "Degraded");
}

function isReady({ status, metadata }: NonNullable<ClusterView["nodes"][number]["pod"]>): boolean {
  if (metadata.deletionTimestamp !== undefined) return false;
  return status.conditions.some((each) => each.type === "Ready" && each.status === "True");
}

function allApplied(
  { members }: ClusterPlan,
  which: "configurationHash" | "secretsHash",
  wanted: string | undefined,
): boolean {
  if (wanted === undefined) return false;
  return members.every((member) => stateOf(member)?.applied[which] === wanted);
}
