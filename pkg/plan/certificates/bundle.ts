/** What to do about a ValkeyCertificateBundle: issue its intermediate, renew it in time, tell its state. */
import type { ValkeyCertificateBundleSpec, ValkeyCertificateBundleStatus } from "../../api/certificate-bundle.ts";
import { whenToRotate } from "./due.ts";
import type { AuthorityView, CertificateView, Held } from "./view.ts";

export interface BundleInput {
  readonly spec: ValkeyCertificateBundleSpec;
  readonly authority: AuthorityView;
  readonly held: CertificateView;
  /** Names what the intermediate should be made for. */
  readonly request: string;
}

export interface BundleStep {
  readonly do: "issue-intermediate";
  /** Why, for the event. */
  readonly why: string;
}

export interface BundlePlan {
  readonly steps: readonly BundleStep[];
  readonly holds: readonly { readonly name: string; readonly reason: string }[];
  readonly status: Pick<ValkeyCertificateBundleStatus, "phase" | "message" | "thumbprint" | "issuedAt" | "expiresAt">;
  readonly requeueAfterMs?: number;
}

const DAY_MS = 86_400_000;
/** Of its life, where the policy's days are longer than that. */
const ROTATE_PERCENT = 66;

export function planBundle({ spec, authority, held, request }: BundleInput, now: Date): BundlePlan {
  if (!authority.ready) {
    return {
      steps: [],
      holds: [{ name: "authority-not-ready", reason: authority.why }],
      status: { ...factsOf(held), phase: "Pending", message: authority.why },
    };
  }
  const why = reasonToIssue(held, authority.root, request);
  if (why !== undefined) return issuing(held, why);
  if (held.found !== "certificate") return issuing(held, "there is none");
  const dueAt = bundleDueAt(held, spec);
  if (dueAt > now) {
    return { steps: [], holds: [], status: ready(held), requeueAfterMs: dueAt.getTime() - now.getTime() };
  }
  if (spec.rotationPolicy?.autoRotate !== false) return issuing(held, "it is due for renewal");
  return { steps: [], holds: [], status: overdue(held, now), requeueAfterMs: DAY_MS / 24 };
}

/** By the policy's days where they fit into its life, otherwise by a share of it. */
export function bundleDueAt({ notBefore, notAfter }: Held, spec: ValkeyCertificateBundleSpec): Date {
  const before = (spec.rotationPolicy?.renewBeforeDays ?? 30) * DAY_MS;
  const life = notAfter.getTime() - notBefore.getTime();
  if (before < life) return new Date(notAfter.getTime() - before);
  return whenToRotate(notBefore, notAfter, ROTATE_PERCENT);
}

function reasonToIssue(held: CertificateView, root: string, request: string): string | undefined {
  switch (held.found) {
    case "nothing":
      return "there is none";
    case "unusable":
      return held.why;
    case "certificate":
      if (held.root !== root) return "another root signs now";
      return held.request === request ? undefined : "it was made for something else than is wanted now";
  }
}

function issuing(held: CertificateView, why: string): BundlePlan {
  return {
    steps: [{ do: "issue-intermediate", why }],
    holds: [],
    status: { ...factsOf(held), phase: "Issuing", message: `issuing the intermediate: ${why}` },
  };
}

function overdue(held: Held, now: Date): BundlePlan["status"] {
  const facts = factsOf({ found: "certificate", ...held });
  const how = "allow it with rotationPolicy.autoRotate, or delete its Secret to have a new one issued";
  if (held.notAfter <= now) return { ...facts, phase: "Expired", message: `the intermediate has expired: ${how}` };
  return { ...facts, phase: "Expiring", message: `the intermediate is near its end and is not renewed: ${how}` };
}

function ready(held: Held): BundlePlan["status"] {
  return { ...factsOf({ found: "certificate", ...held }), phase: "Ready", message: "the intermediate is valid" };
}

function factsOf(held: CertificateView) {
  if (held.found !== "certificate") return {};
  const { thumbprint, notBefore, notAfter } = held;
  return { thumbprint, issuedAt: notBefore.toISOString(), expiresAt: notAfter.toISOString() };
}
