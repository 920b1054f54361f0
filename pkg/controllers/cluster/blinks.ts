/**
 * A handover leaves a shard without a primary for some hundredths of a second. Whoever watches the condition Ready is not
 * alarmed by one that was planned, unless it lasts.
 */
import type { ValkeyClusterStatus } from "../../api/cluster-status.ts";
import { isTrue } from "../../plan/cluster/conditions.ts";

const BLINK_MS = 1000;

export class Blinks {
  readonly #since = new Map<string, number>();

  /** How much longer to wait before this status is told: nothing unless it says that a planned change is felt. */
  waitMs(key: string, before: ValkeyClusterStatus | undefined, now: ValkeyClusterStatus, atMs: number): number {
    if (!isTrue(before, "Ready") || isTrue(now, "Ready") || !isPlanned(now)) {
      this.#since.delete(key);
      return 0;
    }
    const since = this.#since.get(key) ?? atMs;
    this.#since.set(key, since);
    return Math.max(0, since + BLINK_MS - atMs);
  }

  forget(key: string): void {
    this.#since.delete(key);
  }
}

function isPlanned({ rollout, failover }: ValkeyClusterStatus): boolean {
  return rollout !== undefined || failover?.phase === "Running";
}
