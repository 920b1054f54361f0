/** kubectl valkey status NAME: how a cluster is, what the operator is doing, what it waits for, and what to do. */
import type { ClusterStatus } from "./cluster-objects.ts";
import type { Picture } from "./picture.ts";
import { renderStatus } from "./render-status.ts";
import { type ShowOptions, show } from "./show.ts";

export async function showStatus(name: string, options: ShowOptions): Promise<number> {
  return show({ text: renderStatus, lines: statusLines, json: statusJson }, name, options);
}

export function statusLines({ status, deleting }: Picture): string[] {
  if (status === undefined) return ["Pending: the operator has not looked at this cluster yet"];
  const { phase = "Pending", message = "", readyPods = 0, pods = 0, slotsAssigned = 0 } = status;
  return [
    `${deleting ? "being deleted" : phase}: ${message}`,
    `${readyPods} of ${pods} pods ready, ${slotsAssigned} slots served`,
    ...rolloutLine(status.rollout),
    ...status.plan.map(({ step, message: why = "" }) => `under way: ${step} ${why}`.trimEnd()),
    ...status.holds.map(({ predicate, message: why }) => `held back: ${predicate}: ${why}`),
    ...status.troubles.map(({ severity = "error", reason, message: why }) => `${severity}: ${reason}: ${why}`),
  ];
}

function rolloutLine(rollout: ClusterStatus["rollout"]): string[] {
  if (rollout === undefined) return [];
  const { updated = 0, pods = 0, next } = rollout;
  return [`rolling change: ${updated} of ${pods} pods${next === undefined ? "" : `, next is ${next}`}`];
}

export function statusJson({ name, namespace, healthy, deleting, seen, suspended, status }: Picture): object {
  const { shards: _shards, ...told } = status ?? { shards: [] };
  return { name, namespace, healthy, deleting, observed: seen, suspended, ...told };
}
