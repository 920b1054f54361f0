/** A pod that its workload is not allowed to make. */
import type { NodeContext } from "./context.ts";
import { type Finding, quoted } from "./finding.ts";

export function workloadFinding({ node }: NodeContext): Finding | undefined {
  const { workload } = node;
  const failure = workload?.conditions.find(({ type, status }) => type === "ReplicaFailure" && status === "True");
  const said = failure?.message ?? workload?.failedCreate;
  if (said === undefined || said === "") return undefined;
  return { ...refusal(said), subject: node.node, node: node.node, severity: "error" };
}

/** Also for claims and Secrets that the operator itself was refused. */
export function refusal(said: string): Pick<Finding, "reason" | "what" | "detail" | "fix"> {
  const detail = refusalWords(said);
  if (/exceeded quota/u.test(said)) {
    return {
      reason: "QuotaExceeded",
      what: "the namespace's ResourceQuota does not allow more",
      detail,
      fix: "Raise the quota, or ask for less: fewer pods, smaller spec.resources, a smaller spec.pvc.storageSize.",
    };
  }
  if (/service ?account .*not found/u.test(said)) {
    return {
      reason: "ServiceAccountMissing",
      what: "the pods' ServiceAccount does not exist",
      detail,
      fix: "Make it, or correct spec.serviceAccountName.",
    };
  }
  if (/violates PodSecurity/u.test(said)) {
    return {
      reason: "PodRefused",
      what: "the namespace's pod security does not allow the pods",
      detail,
      fix: "Take out of spec.securityContext what it forbids, or lower the namespace's level.",
    };
  }
  return {
    reason: "PodRefused",
    what: "the API server does not accept the pods",
    detail,
    fix: "Its words name the rule or the webhook that refuses them.",
  };
}

/** Without what names the single pod: the rest is the same for all. */
function refusalWords(said: string): string {
  const cause = said
    .replace(/^\(combined from similar events\): /u, "")
    .replace(/^Error creating: /u, "")
    .replace(/^[Cc]reate Pod \S+ in StatefulSet \S+ failed error: /u, "")
    .replace(/^[a-z]+ "[^"]+" is forbidden: /u, "");
  return quoted(cause);
}
