/** The conditions of a cluster, and the one word and sentence that sum it up. */
import type { ValkeyClusterStatus } from "../../api/cluster-status.ts";
import type { Condition } from "../../api/condition.ts";

/** What a condition says; when it began to is kept from before. */
export interface Saying {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
}

export interface ConditionContext {
  readonly before: ValkeyClusterStatus | undefined;
  readonly generation: number | undefined;
  readonly now: Date;
}

const LONGEST = 1024;

export function conditionsOf(sayings: readonly Saying[], { before, generation, now }: ConditionContext): Condition[] {
  return sayings.map(({ type, status, reason, message }) => {
    const known = before?.conditions?.find((each) => each.type === type);
    return {
      type,
      status,
      reason,
      message: message.slice(0, LONGEST),
      lastTransitionTime: known?.status === status ? known.lastTransitionTime : now.toISOString(),
      ...(generation === undefined ? {} : { observedGeneration: generation }),
    };
  });
}

export function isTrue(status: ValkeyClusterStatus | undefined, type: string): boolean {
  return status?.conditions?.some((each) => each.type === type && each.status === "True") === true;
}
