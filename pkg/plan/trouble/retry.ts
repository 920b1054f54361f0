/**
 * When to make a workload try again. A StatefulSet whose pod was refused tries again ever more rarely, up to a quarter of
 * an hour later, and does not notice that a quota was raised. Any change of the object makes it try at once.
 */

/** On the workload: when it was last made to try. */
export const RETRY_ANNOTATION = "valkey.io/retry-at";
export const RETRY_EVERY_MS = 15_000;

export interface Refused {
  /** Whether there should be a pod. */
  readonly wanted: boolean;
  readonly hasPod: boolean;
  /** What was said when its pod was refused. */
  readonly failedCreate: string | undefined;
  readonly retriedAt: string | undefined;
}

export function retryDue({ wanted, hasPod, failedCreate, retriedAt }: Refused, now: Date): "now" | "later" | "never" {
  if (!wanted || hasPod || failedCreate === undefined) return "never";
  const since = retriedAt === undefined ? Number.NaN : now.getTime() - Date.parse(retriedAt);
  return since < RETRY_EVERY_MS ? "later" : "now";
}
