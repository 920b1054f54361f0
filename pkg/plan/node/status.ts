/** What the status of a ValkeyNode says. */
import type { Condition } from "../../api/condition.ts";
import type { ValkeyNode, ValkeyNodeStatus } from "../../api/node.ts";
import { claimName, REVISION_ANNOTATION } from "../objects/names.ts";
import { type Drift, isReady, type NodePod, type NodeView, podOf } from "./view.ts";

/** How long a drift is shown after it was repaired. */
export const DRIFT_SHOWN_MS = 5 * 60_000;

export interface StatusInput {
  readonly node: ValkeyNode;
  readonly view: NodeView;
  /** Why something could not be made. */
  readonly failure?: string | undefined;
  readonly now: Date;
}

export function statusOf(input: StatusInput): ValkeyNodeStatus {
  const { node, view } = input;
  const pod = podOf(view);
  return {
    ...phaseOf(input),
    observedGeneration: node.metadata.generation,
    ready: pod !== undefined && isReady(pod) && pod.metadata.deletionTimestamp === undefined,
    ...(pod === undefined ? {} : { pod: podStatus(pod, view.zone) }),
    ...volumeStatus(node, view),
    ...(node.spec.service === undefined ? {} : { serviceName: node.metadata.name }),
    ...reported(input, pod),
    ...conditionsOf(input),
  };
}

type Phase = Pick<ValkeyNodeStatus, "phase" | "message">;

function phaseOf({ node, view, failure }: StatusInput): Phase {
  if (failure !== undefined) return { phase: "Failed", message: failure.slice(0, 1024) };
  const pod = podOf(view);
  if (pod === undefined) return withoutPod(node, view);
  if (pod.metadata.deletionTimestamp !== undefined) return { phase: "Terminating", message: "its pod is ending" };
  if (pod.status.phase === "Failed") return { phase: "Failed", message: `its pod failed${said(pod)}` };
  if (isReady(pod)) return { phase: "Running" };
  return pod.status.phase === "Running"
    ? { phase: "Running", message: "its pod is not ready yet" }
    : { phase: "Pending", message: `its pod is not running yet${said(pod)}` };
}

function said({ status }: NodePod): string {
  const unscheduled = status.conditions.find(({ type, status }) => type === "PodScheduled" && status === "False");
  const words = status.message ?? unscheduled?.message ?? "";
  return words === "" ? "" : `: ${words.slice(0, 900)}`;
}

function withoutPod({ spec }: ValkeyNode, { missing, workload, claim }: NodeView): Phase {
  if (spec.suspended) return { phase: "Suspended" };
  if (workload === undefined && missing.length > 0) {
    return { phase: "Pending", message: `its pod is made when these are there: ${missing.join(", ")}` };
  }
  if (claim?.terminating === true) return { phase: "Pending", message: "its claim is being deleted" };
  return { phase: "Pending", message: "its pod has not been made yet" };
}

function podStatus(pod: NodePod, zone: string | undefined): NonNullable<ValkeyNodeStatus["pod"]> {
  const { name, uid = "", annotations } = pod.metadata;
  const revision = annotations?.[REVISION_ANNOTATION];
  const { podIP } = pod.status;
  const { nodeName } = pod.spec;
  return { name, uid, ip: podIP, node: nodeName, zone, revision };
}

function volumeStatus({ spec, metadata }: ValkeyNode, { claim }: NodeView): Pick<ValkeyNodeStatus, "volume"> {
  if (spec.storage === undefined || claim === undefined) return {};
  const { capacity, resizing } = claim;
  return { volume: { claim: claimName(metadata.name), capacity, ...(resizing ? { resizing } : {}) } };
}

type Reported = Pick<ValkeyNodeStatus, "nodeId" | "role" | "version" | "configHash">;

/**
 * An operator that has just begun to lead has heard nothing yet: what was known stands, as long as the pod does. The id
 * stands for ever, until there is another one: who has none on record was never given slots or a primary, and counts as
 * having no data.
 */
function reported({ node, view }: StatusInput, pod: NodePod | undefined): Reported {
  const id = node.status?.nodeId;
  if (pod === undefined) return { nodeId: id, role: "none" };
  const before = node.status?.pod?.uid === pod.metadata.uid ? node.status : undefined;
  const { nodeId = id, role = "none", version, configHash } = view.report ?? before ?? {};
  return { nodeId, role, version, configHash };
}

function conditionsOf(input: StatusInput): { conditions?: Condition[] } {
  const { node, view, now } = input;
  const before = driftedCondition(node);
  const until = driftShownUntil(node, view.drift);
  if (until === undefined) return before === undefined ? {} : { conditions: [before] };
  const shown = now.getTime() < until;
  const status = shown ? "True" : "False";
  return {
    conditions: [
      {
        type: "Drifted",
        status,
        reason: shown ? "Repaired" : "AsWanted",
        message: shown ? repaired(view.drift, before) : "everything is as wanted",
        lastTransitionTime: before?.status === status ? before.lastTransitionTime : now.toISOString(),
        ...(node.metadata.generation === undefined ? {} : { observedGeneration: node.metadata.generation }),
      },
    ],
  };
}

function driftedCondition({ status }: ValkeyNode): Condition | undefined {
  return status?.conditions?.find(({ type }) => type === "Drifted");
}

/** What an earlier leader has repaired is known from the condition alone. */
function repaired(drift: Drift | undefined, before: Condition | undefined): string {
  if (drift === undefined) return before?.message ?? "";
  return `somebody else changed what belongs to this node and it was put back: ${drift.what}; edit its parent instead`;
}

/** Milliseconds of the wall clock; undefined when nothing has drifted. */
export function driftShownUntil(node: ValkeyNode, drift: Drift | undefined): number | undefined {
  const before = driftedCondition(node);
  const at = drift?.at ?? (before?.status === "True" ? new Date(before.lastTransitionTime) : undefined);
  return at === undefined ? undefined : at.getTime() + DRIFT_SHOWN_MS;
}
