/**
 * Makes every ValkeyCluster be what it says: its objects, its formation, its status.
 *
 * What agents are asked for goes its own way (see the hub): a run of this controller reads what is known, plans, sends
 * what is due without waiting long for anybody, and tells.
 */
import type { ValkeyCluster } from "../../api/cluster.ts";
import { type Clock, systemClock } from "../../clock/clock.ts";
import type { Applier } from "../../kube/apply.ts";
import type { KubeClient } from "../../kube/client.ts";
import type { ActContext, Controller, Source, Told } from "../../kube/controller.ts";
import type { EventRecorder } from "../../kube/events.ts";
import { keyOf } from "../../kube/resource.ts";
import { type ClusterPlan, type ClusterStep, planCluster } from "../../plan/cluster/plan.ts";
import { reportCluster } from "../../plan/cluster/status.ts";
import type { ClusterView } from "../../plan/cluster/view.ts";
import type { OperatorFacts } from "../../plan/objects/types.ts";
import type { AgentHub, AgentTarget } from "../agents/agent-hub.ts";
import type { ServerCertificates } from "../certificates/server-certificates.ts";
import { type ActDeps, actOnCluster } from "./act.ts";
import { targetOf } from "./agent-now.ts";
import { Alarms } from "./alarms.ts";
import type { ClusterCaches } from "./caches.ts";
import { DesiredMemory } from "./desired-memory.ts";
import { Drifts } from "./drifts.ts";
import { Failovers } from "./failovers.ts";
import { LastPods } from "./last-pods.ts";
import { News } from "./news.ts";
import { type ObserveDeps, viewCluster } from "./observe.ts";
import { clusterSources } from "./sources.ts";
import { StatusWriter } from "./status-writer.ts";
import { Strangers } from "./strangers.ts";

export interface ClusterDeps {
  readonly client: KubeClient;
  readonly applier: Applier;
  readonly recorder: Pick<EventRecorder, "record">;
  readonly caches: ClusterCaches;
  readonly hub: AgentHub;
  readonly servers: ServerCertificates;
  readonly operator: OperatorFacts;
  readonly clock?: Clock;
}

interface Parts extends ObserveDeps, ActDeps {
  readonly writer: StatusWriter;
  readonly alarms: Alarms;
  /** What was planned on a view, with what the controller's frame does not carry. */
  readonly plans: WeakMap<ClusterView, ClusterPlan>;
}

export function clusterController(deps: ClusterDeps): Controller<ValkeyCluster, ClusterView, ClusterStep> {
  const parts = partsOf(deps);
  const { caches, hub, alarms, plans } = parts;
  return {
    name: "cluster",
    workers: 8,
    sources: [...clusterSources(caches, hub, parts.servers), alarms, reports(parts)],
    observe: (key) => {
      const cluster = caches.clusters.byKey(key);
      if (cluster === undefined) {
        forget(parts, key);
        return undefined;
      }
      return { wanted: cluster, view: viewCluster(parts, cluster, parts.drifts.of(key)) };
    },
    plan: (_cluster, view, now) => {
      const plan = planCluster(view, now);
      plans.set(view, plan);
      return plan;
    },
    act: async (step, context) => {
      const cluster = caches.clusters.byKey(context.key);
      if (cluster !== undefined) await actOnCluster(parts, cluster, step, context);
    },
    report: async (told, context) => report(parts, told, context),
  };
}

/** While this replica leads: what agents call urgent is told as an event; it wakes nobody, the hub does. */
function reports({ hub, caches, news }: Parts): Source {
  return {
    subscribe: () =>
      hub.subscribe(({ deployment, identity, report }) => {
        const cluster = report === undefined ? undefined : caches.clusters.byKey(deployment);
        if (cluster !== undefined && report !== undefined) news.report(cluster, identity.node, report);
      }),
  };
}

function partsOf(deps: ClusterDeps): Parts {
  const { clock = systemClock, applier, recorder } = deps;
  return {
    ...deps,
    clock,
    wall: () => clock.wall(),
    memory: new DesiredMemory(),
    strangers: new Strangers(),
    lastPods: new LastPods(deps.caches.pods),
    drifts: new Drifts(recorder),
    failovers: new Failovers(),
    news: new News(recorder),
    writer: new StatusWriter(applier, clock),
    alarms: new Alarms(clock),
    plans: new WeakMap(),
  };
}

/** Everything that is remembered of a cluster that is gone. */
function forget(parts: Parts, key: string): void {
  const { hub, memory, strangers, lastPods, drifts, failovers, writer, alarms, caches } = parts;
  hub.forget(key);
  for (const each of [memory, strangers, lastPods, drifts, failovers, writer, alarms]) each.forget(key);
  caches.givenSecrets.want(key, []);
}

async function report(
  parts: Parts,
  { view, failures }: Told<ValkeyCluster, ClusterView, ClusterStep>,
  context: ActContext,
): Promise<void> {
  const { hub, plans, alarms, writer, news, clock, drifts } = parts;
  const plan = plans.get(view);
  if (plan === undefined) return;
  const key = keyOf(view.cluster);
  hub.watch(key, targetsOf(view), plan.closely);
  const cluster = parts.caches.clusters.byKey(key);
  // When its last finalizer went, so did the cluster.
  if (cluster === undefined) return;
  const current = { ...view, drift: drifts.of(key) };
  const words = failures.map(({ error }) => (error instanceof Error ? error.message : String(error)));
  const told = reportCluster({ view: current, plan, failures: words, now: new Date(clock.wall()) });
  const waitMs = await writer.write(cluster, told.status, context);
  if (waitMs === undefined) news.compare(view.cluster, told);
  alarms.set(key, waitMs, told.lookAgainMs);
}

function targetsOf({ cluster, nodes }: ClusterView): readonly AgentTarget[] {
  const { name, namespace = "" } = cluster.metadata;
  return nodes.flatMap(({ name: node, pod }) => targetOf({ namespace, cluster: name, node }, pod) ?? []);
}
