/** A rolling change and the last failover, as `kubectl valkey status` shows them. */
import type { ClusterStatus } from "./cluster-objects.ts";
import { age, indented, type Style } from "./text.ts";

const BAR = 24;

/** `#######-----  7 of 12 pods`, what is next, and what it is for. */
export function rolloutLines({ rollout }: ClusterStatus, style: Style, now: Date): string[] {
  if (rollout === undefined) return [];
  const { pods = 0, updated = 0, next, changes = "", since } = rollout;
  const full = pods === 0 ? 0 : Math.floor((BAR * updated) / pods);
  const began = since === undefined ? "" : `, for ${age(now.getTime() - Date.parse(since))}`;
  const turn = next === undefined ? "" : `, next is ${next}`;
  return [
    `  ${"#".repeat(full)}${"-".repeat(BAR - full)}  ${updated} of ${pods} pods${turn}${began}`,
    ...(changes === "" ? [] : indented(`for ${changes}`, 4, style.width)),
  ];
}

/** One that is over is told by the command that asked for it. */
export function failoverLines({ failover }: ClusterStatus, style: Style): string[] {
  if (failover === undefined || failover.phase === "Done" || failover.phase === "Failed") return [];
  return indented(`shard ${failover.shard}: ${failover.message}`, 2, style.width);
}
