/**
 * Makes and keeps what a ValkeyNode says: claim, Service, workload. What strangers change, delete or relabel is put back,
 * and told.
 */
import type { ValkeyNode } from "../../api/node.ts";
import { type Clock, systemClock } from "../../clock/clock.ts";
import type { ActContext, Controller, Told } from "../../kube/controller.ts";
import { keyOf } from "../../kube/resource.ts";
import { type NodeStep, planNode } from "../../plan/node/plan.ts";
import { statusOf } from "../../plan/node/status.ts";
import type { NodeView } from "../../plan/node/view.ts";
import { VALKEY_NODES } from "../resources.ts";
import { type ActDeps, NodeActor } from "./act.ts";
import type { AgentReports } from "./agent-reports.ts";
import { viewNode } from "./observe.ts";
import { RoleTimes } from "./role-times.ts";
import { nodeSources } from "./sources.ts";

export interface NodeDeps extends Omit<ActDeps, "wall"> {
  readonly reports: AgentReports;
  readonly clock?: Clock;
}

export function nodeController(deps: NodeDeps): Controller<ValkeyNode, NodeView, NodeStep> {
  const { caches, reports, clock = systemClock } = deps;
  const actor = new NodeActor({ ...deps, wall: () => clock.wall() });
  const roles = new RoleTimes(clock);
  return {
    name: "node",
    sources: nodeSources(caches, reports),
    workers: 8,
    observe: (key) => {
      const node = caches.nodes.byKey(key);
      // What it owns goes with it.
      if (node === undefined || node.metadata.deletionTimestamp !== undefined) {
        actor.forget(key);
        roles.forget(key);
        return undefined;
      }
      return { wanted: node, view: viewNode(caches, reports, node, { drift: actor.driftOf(key), roles }) };
    },
    plan: planNode,
    act: async (step, context) => {
      const node = caches.nodes.byKey(context.key);
      if (node !== undefined) await actor.act(node, step, context);
    },
    report: async (told, context) => {
      const drift = actor.driftOf(keyOf(told.wanted));
      const status = statusOf({
        node: told.wanted,
        view: { ...told.view, drift },
        failure: failureOf(told),
        now: new Date(clock.wall()),
      });
      await writeStatus(deps, told.wanted, status, context);
    },
  };
}

function failureOf({ failures }: Told<ValkeyNode, NodeView, NodeStep>): string | undefined {
  const [first] = failures;
  if (first === undefined) return undefined;
  return first.error instanceof Error ? first.error.message : String(first.error);
}

async function writeStatus(deps: NodeDeps, node: ValkeyNode, status: object, context: ActContext): Promise<void> {
  const { owner, signal, guard } = context;
  await deps.applier.applyStatus(VALKEY_NODES, node, status, { owner, signal, guard });
}
