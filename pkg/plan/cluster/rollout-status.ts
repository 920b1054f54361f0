/** A rolling change as the status tells it. */
import type { ValkeyClusterStatus } from "../../api/cluster-status.ts";
import { isSpare } from "../objects/members.ts";
import type { ClusterNow, StatusInput } from "./facts.ts";
import { rolloutChanges } from "./rollout-view.ts";

const LONGEST = 1024;

export function rolloutStatus(input: StatusInput, { rolling }: ClusterNow): Pick<ValkeyClusterStatus, "rollout"> {
  if (!rolling) return {};
  const { view, plan, now } = input;
  const before = view.cluster.status?.rollout;
  const all = view.desired.nodes.filter(({ spec }) => !isSpare(spec)).length;
  const { pods, updated, next } = plan.rollout?.progress ?? { pods: all, updated: all, next: undefined };
  return {
    rollout: {
      pods,
      updated,
      ...(next === undefined ? {} : { next }),
      ...changesOf(input),
      since: before?.since ?? now.toISOString(),
    },
  };
}

/** Of the last pods nothing differs any more but the pods themselves. */
function changesOf({ view, now }: StatusInput): { readonly changes?: string } {
  const told = rolloutChanges(view, now).join(", ").slice(0, LONGEST);
  const changes = told === "" ? view.cluster.status?.rollout?.changes : told;
  return changes === undefined ? {} : { changes };
}
