/**
 * What to do about a ValkeyNode. It decides nothing of weight: its parent has written down what is to exist.
 *
 * In order: the claim, the Service, then the workload. A claim that exists comes last: a storage that refuses to make it
 * grow must not keep anything else from being done. The first pod is made only when everything it mounts is there,
 * because kubelet looks again only after a long while when a mount is missing.
 */
import type { ValkeyNode } from "../../api/node.ts";
import { REVISION_ANNOTATION, ROLE_LABEL } from "../objects/names.ts";
import type { DesiredObject } from "../objects/types.ts";
import { claimOf, POD_MANAGEMENT_POLICY, selectorOf, serviceNameOf, serviceOf, workloadOf } from "./objects.ts";
import { driftShownUntil } from "./status.ts";
import { type NodePod, type NodeView, podOf, type WorkloadView } from "./view.ts";

export type NodeStep =
  | { readonly do: "apply-claim" | "apply-service" | "apply-workload"; readonly object: DesiredObject }
  /** A field of it cannot be changed: it goes without its pod, and its successor takes the pod over. */
  | { readonly do: "recreate-workload"; readonly field: string }
  | { readonly do: "replace-pod"; readonly pod: string; readonly uid: string }
  /** Nothing of it runs any more: its successor need not wait until kubelet has cleaned up after it. */
  | { readonly do: "drop-pod"; readonly pod: string; readonly uid: string }
  | {
      readonly do: "label-role";
      readonly lane: "role";
      readonly pod: string;
      readonly uid: string;
      readonly role: string;
    };

export interface NodeHold {
  readonly name: "mounts-missing";
  readonly reason: string;
}

export interface NodePlan {
  readonly steps: readonly (NodeStep & { readonly lane?: string })[];
  readonly holds: readonly NodeHold[];
  readonly requeueAfterMs: number;
}

/** Everything that matters wakes the node; this is for what nobody thought of. */
const LOOK_AGAIN_MS = 600_000;

export function planNode(node: ValkeyNode, view: NodeView, now: Date): NodePlan {
  const waits = view.workload === undefined && !node.spec.suspended && view.missing.length > 0;
  const holds = waits ? [{ name: "mounts-missing" as const, reason: view.missing.join(", ") }] : [];
  const object = claimOf(node, view);
  const claim = object === undefined ? [] : [{ do: "apply-claim", object } as const];
  const exists = view.claim !== undefined;
  const service = serviceOf(node);
  return {
    steps: [
      ...(exists ? [] : claim),
      ...(service === undefined ? [] : [{ do: "apply-service", object: service } as const]),
      ...(waits ? [] : workloadSteps(node, view)),
      ...dropSteps(view),
      ...roleSteps(view),
      ...(exists ? claim : []),
    ],
    holds,
    requeueAfterMs: lookAgainMs(node, view, now),
  };
}

function lookAgainMs(node: ValkeyNode, view: NodeView, now: Date): number {
  const waits = [(driftShownUntil(node, view.drift) ?? 0) - now.getTime(), roleLeftMs(view)];
  return Math.min(LOOK_AGAIN_MS, ...waits.filter((ms) => ms > 0));
}

function workloadSteps(node: ValkeyNode, view: NodeView): NodeStep[] {
  const { workload } = view;
  // Its successor is made when it is gone.
  if (workload?.terminating === true) return [];
  const field = workload === undefined ? undefined : fixedDifference(node, workload);
  if (field !== undefined) return [{ do: "recreate-workload", field }];
  return [{ do: "apply-workload", object: workloadOf(node, view) }, ...replaceSteps(node, view)];
}

/** The first field of an existing workload that is not as wanted and cannot be changed. */
function fixedDifference(node: ValkeyNode, workload: WorkloadView): string | undefined {
  if (!Bun.deepEquals(workload.selector, selectorOf(node))) return "spec.selector";
  if (node.spec.podManagementType === "deployment") return undefined;
  if (workload.serviceName !== serviceNameOf(node)) return "spec.serviceName";
  return workload.podManagementPolicy === POD_MANAGEMENT_POLICY ? undefined : "spec.podManagementPolicy";
}

/** A Deployment replaces an outdated pod itself, once it is let; one that is only to be restarted it does not. */
function replaceSteps({ spec }: ValkeyNode, view: NodeView): NodeStep[] {
  const pod = podOf(view);
  if (pod === undefined || spec.suspended) return [];
  const { uid, name, annotations, deletionTimestamp } = pod.metadata;
  const outdated = annotations?.[REVISION_ANNOTATION] !== spec.podRevision;
  if (uid === undefined || uid !== spec.replacePod || deletionTimestamp !== undefined) return [];
  return spec.podManagementType === "deployment" && outdated ? [] : [{ do: "replace-pod", pod: name, uid }];
}

/** Kubelet alone says of containers that they have ended, and starts none again in a pod that goes. */
function dropSteps({ pods }: NodeView): NodeStep[] {
  return pods.filter(hasEnded).flatMap(({ metadata: { name, uid } }) => {
    return uid === undefined ? [] : [{ do: "drop-pod", pod: name, uid }];
  });
}

function hasEnded({ metadata, status }: NodePod): boolean {
  const { phase, containerStatuses, initContainerStatuses } = status;
  const all = [...containerStatuses, ...initContainerStatuses];
  const over = metadata.deletionTimestamp !== undefined && (phase === "Succeeded" || phase === "Failed");
  return over && containerStatuses.length > 0 && all.every(({ state }) => state.terminated !== undefined);
}

/**
 * So that a Service can select replicas. A role that is not known leaves the label as it is, and a primary that has handed
 * over keeps its own for a moment: its pod is often about to go, which kubelet would begin with later after any change of it.
 */
function roleSteps(view: NodeView): NodeStep[] {
  const pod = podOf(view);
  const role = view.report?.role ?? "none";
  if (pod === undefined || role === "none" || !takesLabel(pod, role) || roleLeftMs(view) > 0) return [];
  const { uid, name } = pod.metadata;
  return uid === undefined ? [] : [{ do: "label-role", lane: "role", pod: name, uid, role }];
}

function takesLabel({ metadata }: NodePod, role: string): boolean {
  return metadata.deletionTimestamp === undefined && metadata.labels?.[ROLE_LABEL] !== role;
}

const ROLE_KEPT_MS = 500;

function roleLeftMs({ report, roleForMs }: NodeView): number {
  return report?.role === "replica" ? ROLE_KEPT_MS - roleForMs : 0;
}
