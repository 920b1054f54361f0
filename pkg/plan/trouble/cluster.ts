/** What concerns the cluster as a whole: what it refers to, and what the API server refused the operator. */
import type { ClusterFacts } from "./facts.ts";
import { type Finding, inner, quoted } from "./finding.ts";
import { refusal } from "./workload.ts";

const WHOLE = { subject: "", node: "", severity: "error" } as const;

export function clusterFindings({ given = [], failures = [] }: ClusterFacts): Finding[] {
  return [
    ...given.map(({ reason, message }) => ({ ...WHOLE, reason, what: inner(message), fix: "" })),
    ...failures.map((said) => ({ ...WHOLE, ...failure(said) })),
  ];
}

function failure(said: string): Pick<Finding, "reason" | "what" | "detail" | "fix"> {
  if (/exceeded quota/u.test(said)) return refusal(said);
  return {
    reason: "CannotApply",
    what: "something of the cluster could not be written",
    detail: quoted(said),
    fix: "It is tried again and again; put the cause right if it does not pass.",
  };
}
