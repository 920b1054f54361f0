/** The Ready condition of the kinds about certificates. */
import type { Condition } from "../../api/condition.ts";

export interface Readiness {
  readonly ready: boolean;
  /** One CamelCase word. */
  readonly reason: string;
  readonly message: string;
  readonly generation: number | undefined;
}

/** The time is that of the last change of True to False or back. */
export function readyCondition(before: readonly Condition[] | undefined, now: Date, readiness: Readiness): Condition {
  const { ready, reason, message, generation } = readiness;
  const status = ready ? "True" : "False";
  const last = before?.find(({ type }) => type === "Ready");
  const lastTransitionTime = last?.status === status ? last.lastTransitionTime : now.toISOString();
  return {
    type: "Ready",
    status,
    reason,
    message,
    lastTransitionTime,
    ...(generation === undefined ? {} : { observedGeneration: generation }),
  };
}
