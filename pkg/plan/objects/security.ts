/**
 * Under whom the containers run. All of them under one user in one process namespace, or the agent could neither see nor
 * end its server; and within the restricted pod security standard, whatever the user adds.
 */
import type { ResolvedClusterSpec } from "../../api/resolve.ts";

type PodSecurity = ResolvedClusterSpec["securityContext"];

/** Pods of the restricted standard; the user's own fields come on top. */
export function podSecurity(own: PodSecurity) {
  return {
    fsGroupChangePolicy: "OnRootMismatch",
    seccompProfile: { type: "RuntimeDefault" },
    ...own,
    runAsNonRoot: true,
  };
}

export const CONTAINER_SECURITY = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ["ALL"] },
} as const;

/** Why a security context cannot be: the rules of the CRD say the same, but they hold only for what was written since. */
export function refusedSecurity({ runAsUser, runAsNonRoot }: PodSecurity): string | undefined {
  if (runAsUser === undefined || runAsUser < 1) {
    return "spec.securityContext.runAsUser must be a user id from 1 up: agent and server run under one user that is not root, for example 1000";
  }
  if (runAsNonRoot === false) {
    return "spec.securityContext.runAsNonRoot must not be false: agent and server run under one user that is not root";
  }
  return undefined;
}
