/** From the caches and the agents' words to what troubles are found in. */
import type { ValkeyNode } from "../../api/node.ts";
import type { ObjectCache } from "../../kube/controller.ts";
import { keyOf } from "../../kube/resource.ts";
import { podOf } from "../../plan/node/view.ts";
import { claimName } from "../../plan/objects/names.ts";
import type { AgentFacts, ClusterFacts, MachineFacts, NodeFacts, WorkloadFacts } from "../../plan/trouble/facts.ts";
import { type NodeState, ServerPhase } from "../../rpc/gen/valkey/agent/v1/state_pb.ts";
import { liveWorkload, type NodeCaches } from "../node/observe.ts";
import type { Machine } from "../node/resources.ts";
import { type FailedCreate, lastFailedCreate } from "../trouble/failed-creates.ts";
import type { StorageClass } from "../trouble/storage-classes.ts";

export interface TroubleSources {
  readonly caches: NodeCaches;
  readonly failedCreates: ObjectCache<FailedCreate>;
  /** Undefined when the operator may not see them. */
  readonly storageClasses?: ObjectCache<StorageClass> | undefined;
  readonly agentOf: (node: ValkeyNode) => AgentFacts | undefined;
}

export interface ClusterInput extends Pick<ClusterFacts, "namespace" | "given" | "failures"> {
  /** The ValkeyNodes of the cluster. */
  readonly nodes: readonly ValkeyNode[];
}

export function clusterFacts(sources: TroubleSources, { nodes, ...rest }: ClusterInput): ClusterFacts {
  const { caches, storageClasses, failedCreates } = sources;
  const events = failedCreates.list().filter(({ metadata }) => metadata.namespace === rest.namespace);
  const facts = nodes.map((node) => nodeFacts(sources, events, node));
  const classes = storageClasses?.list().map(({ metadata, isDefault }) => ({ name: metadata.name, isDefault }));
  const machines = caches.machines === undefined ? undefined : machinesOf(caches.machines, facts);
  return { ...rest, nodes: facts, storageClasses: classes, machines };
}

function nodeFacts({ caches, agentOf }: TroubleSources, events: readonly FailedCreate[], node: ValkeyNode): NodeFacts {
  const { name, namespace } = node.metadata;
  const { phase, message } = node.status ?? {};
  const pods = caches.pods.byIndex("node", keyOf(node));
  return {
    node: name,
    pod: podOf({ pods }),
    claim: caches.claims.get({ namespace, name: claimName(name) }),
    workload: node.spec.suspended ? undefined : workloadFacts(caches, events, node),
    agent: agentOf(node),
    failed: phase === "Failed" ? message : undefined,
  };
}

function workloadFacts(
  caches: NodeCaches,
  events: readonly FailedCreate[],
  node: ValkeyNode,
): WorkloadFacts | undefined {
  const live = liveWorkload(caches, node);
  if (live === undefined) return undefined;
  const conditions = "status" in live ? live.status.conditions : [];
  return { conditions, failedCreate: lastFailedCreate(events, live.metadata) };
}

/** Only those that a pod is on: a cluster may have thousands of Nodes. */
function machinesOf(cache: ObjectCache<Machine>, nodes: readonly NodeFacts[]): ReadonlyMap<string, MachineFacts> {
  const names = new Set(nodes.flatMap(({ pod }) => pod?.spec.nodeName ?? []));
  const there = [...names].map((name) => cache.byKey(name)).filter((machine) => machine !== undefined);
  return new Map(
    there.map(({ metadata, ready }) => [
      metadata.name,
      { ready: ready?.status === "True", since: ready?.lastTransitionTime },
    ]),
  );
}

/** What an agent last said; `silentSince` when it does not answer now. */
export function agentFacts(state: NodeState | undefined, silentSince?: Date): AgentFacts | undefined {
  const silence = silentSince === undefined ? {} : { silentSince: silentSince.toISOString() };
  if (state === undefined) {
    return silentSince === undefined ? undefined : { ...silence, needsRestart: [], refusals: [], troubles: [] };
  }
  const { server, applied, troubles } = state;
  return {
    ...silence,
    waitsFor: server?.phase === ServerPhase.GATED ? server.waitsFor : undefined,
    needsRestart: applied?.needsRestart ?? [],
    refusals: (applied?.refusals ?? []).map(({ name, message }) => ({ name, message })),
    troubles: troubles.map(({ reason, message }) => ({ reason, message })),
  };
}
