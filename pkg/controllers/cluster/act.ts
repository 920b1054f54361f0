/** Does what was planned for a cluster. */
import type { ValkeyCluster } from "../../api/cluster.ts";
import type { Applier } from "../../kube/apply.ts";
import type { KubeClient } from "../../kube/client.ts";
import type { ActContext } from "../../kube/controller.ts";
import { addFinalizer, removeFinalizer } from "../../kube/finalizers.ts";
import type { ApplyStep } from "../../plan/cluster/apply-steps.ts";
import type { ClusterStep } from "../../plan/cluster/plan.ts";
import { FINALIZER } from "../../plan/lifecycle/deletion.ts";
import type { AgentHub } from "../agents/agent-hub.ts";
import { NODE_CLAIMS } from "../node/resources.ts";
import { VALKEY_CLUSTERS, VALKEY_NODES } from "../resources.ts";
import { targetOf } from "./agent-now.ts";
import type { ClusterCaches } from "./caches.ts";
import { type AgentStep, commandOf } from "./commands.ts";
import type { DesiredMemory } from "./desired-memory.ts";
import type { Drifts } from "./drifts.ts";
import type { Failovers } from "./failovers.ts";
import type { HandedOver } from "./handover-command.ts";
import { liveObject, resourceOf } from "./kinds.ts";
import type { News } from "./news.ts";
import { podNow } from "./observe.ts";

export interface ActDeps {
  readonly client: KubeClient;
  readonly applier: Applier;
  readonly caches: ClusterCaches;
  readonly hub: AgentHub;
  readonly memory: DesiredMemory;
  readonly drifts: Drifts;
  readonly failovers: Failovers;
  readonly news: News;
  /** Milliseconds of the wall clock. */
  readonly wall: () => number;
}

export async function actOnCluster(
  deps: ActDeps,
  cluster: ValkeyCluster,
  step: ClusterStep,
  context: ActContext,
): Promise<void> {
  if ("node" in step) return command(deps, cluster, step);
  switch (step.do) {
    case "apply":
      return applyObject(deps, cluster, step, context);
    case "add-finalizer":
    case "remove-finalizer":
      return changeFinalizer(deps, cluster, step.do, context);
    case "delete-node":
    case "delete-claim":
      return remove(deps, cluster, step, context);
    case "tell":
      return deps.news.tell(cluster, { type: "Normal", reason: step.reason, action: "Delete", note: step.note });
  }
}

async function applyObject(
  deps: ActDeps,
  cluster: ValkeyCluster,
  { object }: ApplyStep,
  context: ActContext,
): Promise<void> {
  const { caches, applier, memory, drifts } = deps;
  const { owner, signal, guard } = context;
  const live = liveObject(caches, object);
  const outcome = await applier.apply(resourceOf(object), object, { owner, live, signal, guard });
  if (outcome.did === "nothing") memory.settle(object, live);
  drifts.judge(cluster, object, outcome, new Date(deps.wall()));
}

async function changeFinalizer(
  { client }: ActDeps,
  cluster: ValkeyCluster,
  what: "add-finalizer" | "remove-finalizer",
  { signal, guard }: ActContext,
): Promise<void> {
  guard();
  const change = { resource: VALKEY_CLUSTERS, object: cluster, finalizer: FINALIZER };
  if (what === "add-finalizer") await addFinalizer(client, change, { signal });
  else await removeFinalizer(client, change, { signal });
}

async function remove(
  { applier, caches }: ActDeps,
  { metadata: { namespace } }: ValkeyCluster,
  step: ClusterStep & { do: "delete-node" | "delete-claim" },
  { owner, signal, guard }: ActContext,
): Promise<void> {
  const ref = { namespace, name: step.name };
  if (step.do === "delete-node") {
    const live = caches.nodes.get(ref);
    if (live !== undefined) await applier.remove(VALKEY_NODES, { live, owner, signal, guard });
    return;
  }
  const live = caches.claims.get(ref);
  if (live !== undefined) await applier.remove(NODE_CLAIMS, { live, owner, signal, guard });
}

async function command(deps: ActDeps, cluster: ValkeyCluster, step: AgentStep): Promise<void> {
  const { hub, caches, memory, failovers } = deps;
  const { name, namespace = "" } = cluster.metadata;
  const podOf = (node: string) => podNow(caches, caches.pods.byIndex("node", `${namespace}/${node}`));
  const target = targetOf({ namespace, cluster: name, node: step.node }, podOf(step.node));
  const desired = memory.current(`${namespace}/${name}`);
  if (target === undefined || desired === undefined) return;
  const ipOf = (node: string) => podOf(node)?.status.podIP;
  const handedOver: HandedOver = (handover, outcome) => {
    if (handover.request === undefined) deps.news.handedOver(cluster, handover.node, outcome);
    else failovers.note(`${namespace}/${name}`, { ...outcome, request: handover.request });
  };
  await hub.command(target, commandOf(step, { desired, ipOf, sight: hub.sight(target), handedOver }));
}
