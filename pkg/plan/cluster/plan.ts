/**
 * What to do about a cluster: its objects, its formation, its stops and its end. Each stage of its life has a plan; what
 * is common to all is here.
 */
import { planFormation } from "../formation/formation.ts";
import type { FormationStep } from "../formation/step.ts";
import type { MemberView } from "../formation/view.ts";
import { type DeletionPlan, type DeletionStep, FINALIZER, planDeletion } from "../lifecycle/deletion.ts";
import type { Hold } from "../lifecycle/hold.ts";
import { type Stage, stageOf } from "../lifecycle/stage.ts";
import { planResume, planStop } from "../lifecycle/stop.ts";
import { podState } from "../lifecycle/template.ts";

import { planRollout, type RolloutPlan } from "../rollout/rollout.ts";
import type { HandoverStep } from "../rollout/step.ts";
import { type ApplyStep, applySteps } from "./apply-steps.ts";
import { type FailoverNow, failoverNow } from "./failover-view.ts";
import { memberOf } from "./members.ts";
import { introductions, rolloutView, settledInMs } from "./rollout-view.ts";
import { deletionView, serversOf } from "./servers.ts";
import { shardsNow } from "./shards.ts";
import { type SpareStep, spareSteps } from "./spare-steps.ts";
import type { ClusterView } from "./view.ts";

export interface FinalizerStep {
  readonly do: "add-finalizer";
  readonly lane: string;
}

export type ClusterStep = ApplyStep | FinalizerStep | FormationStep | DeletionStep | HandoverStep | SpareStep;

export interface ClusterPlan {
  readonly stage: Stage;
  readonly steps: readonly ClusterStep[];
  readonly holds: readonly Hold[];
  readonly requeueAfterMs?: number | undefined;
  /** Whether agents should be asked often. */
  readonly closely: boolean;
  readonly members: readonly MemberView[];
  /** Of a stage that ends the servers: how far it is. */
  readonly progress?: string | undefined;
  /** Whether all servers were stopped as asked. */
  readonly stopped?: boolean | undefined;
  /** Of a cluster that runs. */
  readonly rollout?: RolloutPlan | undefined;
  readonly failover?: FailoverNow | undefined;
}

export function planCluster(view: ClusterView, now: Date): ClusterPlan {
  const deleting = view.cluster.metadata.deletionTimestamp !== undefined;
  const stage = stageOf(view.asked, view.running, deleting);
  const members = view.nodes.map((node) => memberOf(node, now));
  switch (stage) {
    case "delete": {
      const plan = planDeletion(deletionView(view, now), now);
      return plan.protected ? protectedRun(view, plan, members, now) : { stage, ...plan, closely: true, members };
    }
    case "leave":
      return { stage, steps: [], holds: [], closely: false, members };
    case "suspend":
      return suspend(view, members, now);
    case "run":
      return run(view, members, now);
  }
}

function protectedRun(
  view: ClusterView,
  { holds }: DeletionPlan,
  members: readonly MemberView[],
  now: Date,
): ClusterPlan {
  const plan = view.asked.suspended ? suspend(view, members, now) : run(view, members, now);
  return { ...plan, steps: plan.steps.filter((step) => step.do !== "add-finalizer"), holds: [...holds, ...plan.holds] };
}

function run(view: ClusterView, members: readonly MemberView[], now: Date): ClusterPlan {
  const { effective } = view;
  const { down } = planResume(serversOf(view, now));
  const formation = formationOf(view, members);
  const meetings = formation.steps.filter((step) => step.do === "meet");
  const introduced = introductions(view.nodes, meetings);
  const failover = failoverNow(view, introduced, now);
  const rollout = planRollout(rolloutView(view, failover.underWay, introduced, now));
  const objects = applySteps(view, {
    now,
    mayReplace: ({ name }) => rollout.replace.has(name),
    change: (node, spec) => (down.has(node.name) ? { ...spec, suspended: true } : spec),
  });
  const whole = shardsNow(members).every((shard) => shard.whole);
  const handovers = [...failover.steps, ...rollout.handovers];
  return {
    stage: "run",
    steps: [...finalizerSteps(view), ...objects, ...spareSteps(view, rollout), ...formation.steps, ...handovers],
    holds: [...effective.holds, ...failover.holds, ...rollout.holds, ...formation.holds],
    requeueAfterMs: soonest(
      formation.requeueAfterMs ?? (whole ? undefined : LOOK_MS),
      rollout.requeueAfterMs,
      failover.requeueAfterMs,
      rollout.moving ? settledInMs(introduced) : undefined,
    ),
    closely: formation.closely || !whole || rollout.moving || failover.underWay !== undefined,
    members,
    rollout,
    failover,
  };
}

function formationOf({ desired, effective, strangersForMs }: ClusterView, members: readonly MemberView[]) {
  return planFormation({
    shards: effective.spec.masterCount,
    members,
    wanted: {
      configurationHash: desired.configuration?.hash ?? "",
      secretsHash: desired.secrets?.hash ?? "",
    },
    strangersForMs,
  });
}

function soonest(...waits: readonly (number | undefined)[]): number | undefined {
  const given = waits.filter((wait) => wait !== undefined);
  return given.length === 0 ? undefined : Math.min(...given);
}

/** A cluster that is not whole is looked at even if nobody says anything. */
const LOOK_MS = 5000;

/** A node is scaled to no pod when its server has ended in good order. */
function suspend(view: ClusterView, members: readonly MemberView[], now: Date): ClusterPlan {
  const stop = planStop(serversOf(view, now), { save: true, now });
  const objects = applySteps(view, {
    now,
    // What is made when the cluster is resumed is made as the spec asks.
    mayReplace: ({ pod }) => podState(pod) === "none",
    change: (node, spec) => ({
      ...spec,
      suspended: node.node === undefined || node.node.spec.suspended || stop.down.has(node.name),
    }),
  });
  return {
    stage: "suspend",
    steps: [...finalizerSteps(view), ...objects, ...stop.steps],
    holds: [...view.effective.holds, ...stop.holds],
    requeueAfterMs: stop.requeueAfterMs,
    closely: !stop.done,
    members,
    progress: stop.message,
    stopped: stop.done,
  };
}

function finalizerSteps({ cluster }: ClusterView): FinalizerStep[] {
  if (cluster.metadata.finalizers?.includes(FINALIZER) === true) return [];
  return [{ do: "add-finalizer", lane: "finalizer" }];
}
