/** The failover that somebody asked for with an annotation, if there is one. */
import { FAILOVER_ANNOTATION, readFailoverRequest } from "../../api/failover-request.ts";
import { type FailoverPlan, planFailover } from "../failover/failover.ts";
import type { Hold } from "../lifecycle/hold.ts";
import { type Introduction, rolloutView } from "./rollout-view.ts";
import type { ClusterView } from "./view.ts";

export interface FailoverNow extends FailoverPlan {
  readonly holds: readonly Hold[];
  readonly requeueAfterMs: number | undefined;
}

const LOOK_MS = 250;

/** What was written down of the last one stays. */
export function failoverNow(view: ClusterView, introduced: readonly Introduction[], now: Date): FailoverNow {
  const { cluster, failoverOutcome: outcome } = view;
  const recorded = cluster.status?.failover;
  const nothing = { steps: [], status: recorded, underWay: undefined, requeueAfterMs: undefined };
  const text = cluster.metadata.annotations?.[FAILOVER_ANNOTATION];
  if (text === undefined) return { ...nothing, holds: [] };
  const read = readFailoverRequest(text);
  if ("wrong" in read) return { ...nothing, holds: [{ name: "failover-unreadable", reason: read.wrong }] };
  const { members } = rolloutView(view, undefined, introduced, now);
  const asked = new Set(view.nodes.filter(({ agent }) => agent.busy === "handover").map(({ name }) => name));
  const plan = planFailover({ request: read.request, recorded, outcome, asked, members, now });
  return { ...plan, holds: [], requeueAfterMs: plan.underWay === undefined ? undefined : LOOK_MS };
}
