/**
 * What to do next with the webhooks' certificates. A pure decision over the shared state and the time, taken by every
 * replica alike; the Secret's resourceVersion lets only one of them carry it out.
 *
 * A new authority is first published beside the old one, and signs only when the API servers had time to learn of it;
 * the old one stays published until the last leaf that it signed is over. So at no moment is a leaf served that an API
 * server does not trust, however far the replicas lag, and nobody has to count replicas.
 */
import { isIPv6 } from "node:net";
import {
  type AlternativeNames,
  alternativeNames,
  type Credential,
  createRoot,
  issueLeaf,
  whenToRotate,
} from "../pki/pki.ts";
import type { CertificateState, OldAuthority } from "./certificate-state.ts";

export interface CertificatePolicy {
  /** What the API server calls us: `<service>.<namespace>.svc`, or an IP address. */
  readonly names: Partial<AlternativeNames>;
  readonly authorityLifetimeMs: number;
  readonly leafLifetimeMs: number;
  readonly rotateBeforePercent: number;
  /** How long after its publication a new authority waits before it signs. */
  readonly settleMs: number;
}

export type CertificateStep = "start-over" | "issue-leaf" | "add-authority" | "switch-authority" | "retire-authority";

export type CertificatePlan =
  | { readonly step: CertificateStep; readonly why: string }
  | { readonly step: "wait"; readonly until: Date };

export function planCertificates(
  state: CertificateState | undefined,
  policy: CertificatePolicy,
  now: Date,
): CertificatePlan {
  if (state === undefined) return { step: "start-over", why: "there are no certificates yet" };
  const due = [
    { step: "switch-authority", why: "the new authority is published", at: switchAt(state, policy) },
    { step: "start-over", why: "the authority is expired", at: state.current.certificate.notAfter },
    { step: "issue-leaf", why: "the names changed", at: sameNames(state.leaf, policy) ? undefined : now },
    { step: "issue-leaf", why: "the leaf is due", at: dueAt(state.leaf, policy) },
    { step: "add-authority", why: "the authority is due", at: addAt(state, policy) },
    { step: "retire-authority", why: "its last leaf is over", at: earliest(state.old.map(({ until }) => until)) },
  ] as const;
  const next = due.find(({ at }) => at !== undefined && at <= now);
  if (next !== undefined) return { step: next.step, why: next.why };
  return { step: "wait", until: earliest(due.map(({ at }) => at)) ?? state.leaf.certificate.notAfter };
}

/** The state after a step. Makes keys, so it is not pure; it does no other I/O. */
export async function takeStep(
  step: CertificateStep,
  state: CertificateState | undefined,
  policy: CertificatePolicy,
  now: Date,
): Promise<CertificateState> {
  if (state === undefined || step === "start-over") return startOver(policy, now);
  switch (step) {
    case "issue-leaf":
      return { ...state, leaf: await newLeaf(state.current, policy, now) };
    case "add-authority":
      return { ...state, next: { credential: await newAuthority(policy, now), publishedAt: undefined } };
    case "switch-authority":
      return switchAuthority(state, policy, now);
    case "retire-authority":
      return { ...state, old: state.old.filter(({ until }) => until > now) };
    default:
      return step satisfies never;
  }
}

async function startOver(policy: CertificatePolicy, now: Date): Promise<CertificateState> {
  const current = await newAuthority(policy, now);
  return { current, next: undefined, old: [], leaf: await newLeaf(current, policy, now) };
}

async function switchAuthority(
  state: CertificateState,
  policy: CertificatePolicy,
  now: Date,
): Promise<CertificateState> {
  if (state.next === undefined) return state;
  const current = state.next.credential;
  const retired: OldAuthority = {
    certificate: state.current.certificate,
    until: state.leaf.certificate.notAfter,
  };
  return { current, next: undefined, old: [retired, ...state.old], leaf: await newLeaf(current, policy, now) };
}

async function newAuthority(policy: CertificatePolicy, now: Date): Promise<Credential> {
  const name = `valkey-operator webhooks ${now.toISOString().slice(0, 16)}`;
  return createRoot({ name, now, lifetimeMs: policy.authorityLifetimeMs });
}

async function newLeaf(authority: Credential, policy: CertificatePolicy, now: Date): Promise<Credential> {
  const { names, leafLifetimeMs: lifetimeMs } = policy;
  return issueLeaf(authority, { name: "valkey-operator webhooks", now, lifetimeMs, names, usages: ["server"] });
}

function dueAt({ certificate }: Credential, policy: CertificatePolicy): Date {
  return whenToRotate(certificate.notBefore, certificate.notAfter, policy.rotateBeforePercent);
}

function addAt(state: CertificateState, policy: CertificatePolicy): Date | undefined {
  return state.next === undefined ? dueAt(state.current, policy) : undefined;
}

function switchAt({ next }: CertificateState, { settleMs }: CertificatePolicy): Date | undefined {
  return next?.publishedAt === undefined ? undefined : new Date(next.publishedAt.getTime() + settleMs);
}

function sameNames(leaf: Credential, { names }: CertificatePolicy): boolean {
  const { dns, ip, uri } = alternativeNames(leaf.certificate);
  const flat = (all: Partial<AlternativeNames>) =>
    [all.dns, all.ip?.map(canonicalIp), all.uri].map((part) => [...(part ?? [])].toSorted());
  return JSON.stringify(flat({ dns, ip, uri })) === JSON.stringify(flat(names));
}

/** One address can be written in many ways; compared by its text it would be a new name at every look. */
function canonicalIp(ip: string): string {
  return isIPv6(ip) ? new URL(`http://[${ip}]`).hostname : ip;
}

function earliest(dates: readonly (Date | undefined)[]): Date | undefined {
  const times = dates.flatMap((date) => (date === undefined ? [] : [date.getTime()]));
  return times.length === 0 ? undefined : new Date(Math.min(...times));
}
