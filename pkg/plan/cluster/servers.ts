/** The servers of a cluster as suspending and deleting see them. */
import type { ValkeyNode } from "../../api/node.ts";
import { ownsSlots, stateOf } from "../formation/member.ts";
import type { DeletionView } from "../lifecycle/deletion.ts";
import type { ServerNow } from "../lifecycle/stop.ts";
import { podState } from "../lifecycle/template.ts";
import { memberOf } from "./members.ts";
import type { ClusterView, NodeNow } from "./view.ts";

export function serversOf({ nodes }: ClusterView, now: Date): readonly ServerNow[] {
  return nodes.map((node) => serverOf(node, now));
}

function serverOf(place: NodeNow, now: Date): ServerNow {
  const { name, shard, pod, node } = place;
  const state = stateOf(memberOf(place, now));
  return {
    node: name,
    shard,
    primary: state === undefined ? node?.status?.role === "primary" : ownsSlots(state.cluster),
    podUid: pod?.metadata.uid,
    podGoing: pod?.metadata.deletionTimestamp !== undefined,
    stopped: state?.phase === "stopped",
    serverRuns: podState(pod) === "running",
    silentSince: state === undefined ? silentSince(place, now) : undefined,
  };
}

/** Of one that was asked in vain and never heard of, since its pod began. */
function silentSince({ pod, agent }: NodeNow, now: Date): Date {
  const { contact, facts } = agent;
  if (contact.known === "not-asked") return now;
  return new Date(facts?.silentSince ?? pod?.status.startTime ?? pod?.metadata.creationTimestamp ?? now);
}

export function deletionView(view: ClusterView, now: Date): DeletionView {
  const {
    name,
    namespace = "",
    uid = "",
    deletionTimestamp = "",
    finalizers = [],
    annotations = {},
  } = view.cluster.metadata;
  return {
    cluster: { name, namespace, uid, deletionTimestamp, finalizers, annotations },
    nodes: view.nodes.flatMap(({ node }) => (node === undefined ? [] : [goingNode(node)])),
    servers: serversOf(view, now),
    pods: view.pods,
    claims: view.claims,
    whenDeleted: view.asked.pvc?.whenDeleted ?? "Retain",
  };
}

function goingNode({ metadata }: ValkeyNode) {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
  return { name: metadata.name, ownerUid: owner?.uid, going: metadata.deletionTimestamp !== undefined };
}
