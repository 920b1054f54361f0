/** How a cluster is, in one word, one reason and one sentence. */
import type { ValkeyClusterStatus } from "../../api/cluster-status.ts";
import { SLOTS } from "../formation/slots.ts";
import type { RolloutProgress } from "../rollout/rollout.ts";
import type { Saying } from "./conditions.ts";
import type { ClusterNow, StatusInput } from "./facts.ts";

export interface Summary {
  readonly phase: NonNullable<ValkeyClusterStatus["phase"]>;
  readonly reason: string;
  readonly message: string;
}

export function summaryOf(input: StatusInput, now: ClusterNow): Summary {
  const { plan } = input;
  switch (plan.stage) {
    case "leave":
      return { phase: "Unbound", reason: "Unbound", message: "the operator does not touch this cluster" };
    case "suspend":
      return plan.stopped === true
        ? { phase: "Suspended", reason: "Suspended", message: "all pods are stopped, the volumes are kept" }
        : { phase: "Updating", reason: "Suspending", message: plan.progress ?? "the pods are being stopped" };
    case "delete":
      return { phase: "Updating", reason: "Deleting", message: plan.holds[0]?.reason ?? "everything is being deleted" };
    case "run":
      return running(input, now);
  }
}

function running(input: StatusInput, now: ClusterNow): Summary {
  const counts = countsText(input, now);
  const rolling = rollingSummary(input, now, counts);
  if (rolling !== undefined) return rolling;
  if (now.whole) return { phase: "Running", reason: "AllShardsHealthy", message: `${counts}${waitingText(input)}` };
  return incomplete(input, now, counts);
}

function incomplete(input: StatusInput, now: ClusterNow, counts: string): Summary {
  const [worst] = now.troubles.filter(({ severity }) => severity === "error");
  const why = worst?.message ?? input.plan.holds[0]?.reason;
  const { phase, reason } = lacking(now);
  return {
    phase: worst !== undefined && phase === "Pending" ? "Failed" : phase,
    reason: worst?.reason ?? reason,
    message: `${downText(now)}${counts}${why === undefined ? meetingText(now) : `; ${why}`}`,
  };
}

function meetingText({ meeting }: ClusterNow): string {
  return meeting ? "; the nodes are finding each other" : "";
}

/** A rolling change that goes as it should; with a pod that does not come up the usual words are right. */
function rollingSummary({ plan }: StatusInput, now: ClusterNow, counts: string): Summary | undefined {
  if (!isPlanned(now) || (now.whole && plan.rollout?.moving !== true)) return undefined;
  const { progress } = plan.rollout ?? {};
  const done = progress === undefined ? "" : `; ${progressText(progress)}`;
  return { phase: "Updating", reason: "RollingChange", message: `${counts}${done}` };
}

function progressText({ updated, pods, next }: RolloutProgress): string {
  return `${updated} of ${pods} pods are as the spec asks${next === undefined ? "" : `, next is ${next}`}`;
}

/** A change that is wanted and not begun. */
function waitingText({ plan: { rollout } }: StatusInput): string {
  const [hold] = rollout?.holds ?? [];
  return hold === undefined ? "" : `; ${hold.name}: ${hold.reason}`;
}

/** Whether nothing is missing but what a rolling change has taken away for a moment. */
function isPlanned({ rolling, served, troubles, whole, wasWhole }: ClusterNow): boolean {
  const healthy = served === SLOTS && !troubles.some(({ severity }) => severity === "error");
  return rolling && healthy && (whole || wasWhole);
}

function lacking({ served, wasWhole, meeting }: ClusterNow): Pick<Summary, "phase" | "reason"> {
  if (meeting) return { phase: wasWhole ? "Running" : "Pending", reason: "NodesMeeting" };
  if (served === SLOTS) return { phase: "Running", reason: "ReplicasMissing" };
  return wasWhole ? { phase: "Failed", reason: "ShardsDown" } : { phase: "Pending", reason: "Forming" };
}

function downText({ shards, wasWhole }: ClusterNow): string {
  if (!wasWhole) return "";
  const down = shards.filter(({ serves }) => !serves).map(({ index }) => index);
  if (down.length === 0) return "";
  const names = down.slice(0, 10).join(", ");
  return `${down.length === 1 ? `shard ${names} serves` : `shards ${names} serve`} no requests; `;
}

export function countsText({ view }: StatusInput, { shards, readyPods, served }: ClusterNow): string {
  const count = shards.length === 1 ? "1 shard" : `${shards.length} shards`;
  return `${count}, ${readyPods} of ${view.nodes.length} pods ready, ${served} slots served`;
}

/** Ready, Progressing and Degraded. */
export function mainSayings(input: StatusInput, now: ClusterNow, summary: Summary): Saying[] {
  const runs = input.plan.stage === "run";
  return [
    readySaying((now.whole || isPlanned(now)) && runs, summary),
    progressSaying(input, now),
    degradedSaying(runs && now.wasWhole && !now.whole && !isPlanned(now), summary),
  ];
}

function readySaying(ready: boolean, { reason, message }: Summary): Saying {
  return { type: "Ready", status: ready ? "True" : "False", reason, message };
}

function degradedSaying(degraded: boolean, { reason, message }: Summary): Saying {
  if (degraded) return { type: "Degraded", status: "True", reason, message };
  return { type: "Degraded", status: "False", reason: "AsWanted", message: "nothing is missed" };
}

function progressSaying(input: StatusInput, now: ClusterNow): Saying {
  const moves = input.plan.stage === "run" ? runningMoves(input, now) : endingMoves(input);
  if (moves === undefined) {
    return { type: "Progressing", status: "False", reason: "AsWanted", message: "nothing is under way" };
  }
  const reason = now.whole ? "Configuring" : now.wasWhole ? "Recovering" : "Forming";
  return {
    type: "Progressing",
    status: "True",
    reason: input.plan.stage === "run" ? (isMoving(input, now) ? "RollingChange" : reason) : "Stopping",
    message: moves,
  };
}

function isMoving({ plan }: StatusInput, { rolling, whole }: ClusterNow): boolean {
  return rolling && (plan.rollout?.moving === true || !whole);
}

function endingMoves({ plan }: StatusInput): string | undefined {
  if (plan.stage === "delete") return "everything is being deleted";
  return plan.stage === "leave" || plan.stopped === true ? undefined : (plan.progress ?? "the pods are being stopped");
}

/** What is on its way; undefined when nothing is. */
function runningMoves({ view, plan }: StatusInput, now: ClusterNow): string | undefined {
  const { progress, moving = false } = plan.rollout ?? {};
  if (progress !== undefined && moving) return progressText(progress);
  const waiting = view.nodes.length - now.readyPods;
  if (waiting > 0) return `${waiting === 1 ? "1 pod is" : `${waiting} pods are`} not ready yet`;
  if (!now.whole) return "the nodes are finding each other";
  return now.configured && now.secretsApplied ? undefined : "the newest settings are on their way to the agents";
}
