/**
 * What to do about the certificates of the processes of one deployment: issue, renew, trust, look.
 *
 * The order that keeps everybody talking: a root is trusted by all before anything that it signed is used, and it is
 * trusted by all until nothing that it signed is used. Whether a process trusts a root, and what it shows, is believed
 * only after a handshake with it.
 */
import { whenToRotate } from "./due.ts";
import { type AuthorityView, type CertificateView, type Held, sameSet, someOf } from "./view.ts";

/** What handshakes with the process that runs now have told. */
export interface ProcessSight {
  /** The certificate that it showed last; undefined when none has succeeded yet. */
  readonly shows: string | undefined;
  /** Roots under which it has accepted us. */
  readonly accepts: readonly string[];
  /** When it may be asked again. */
  readonly lookAt: Date;
}

export interface LeafMember {
  readonly name: string;
  /** Names what its certificate should be made for. */
  readonly request: string;
  readonly held: CertificateView;
  /** Undefined while no process runs with it. */
  readonly process: ProcessSight | undefined;
}

export interface LeafInput {
  /** For texts: `ValkeyCluster a/b`. */
  readonly deployment: string;
  readonly authority: AuthorityView;
  /** The deployment's own issuer. */
  readonly intermediate: CertificateView;
  readonly members: readonly LeafMember[];
  readonly rotateBeforePercent: number;
}

export type LeafStep =
  | {
      readonly do: "issue-certificates";
      readonly lane: "write";
      readonly names: readonly string[];
      readonly roots: readonly string[];
    }
  | {
      readonly do: "change-trust";
      readonly lane: "write";
      readonly names: readonly string[];
      readonly roots: readonly string[];
    }
  /** Push what the Secret holds where it is not shown yet, and ask by a handshake. */
  | {
      readonly do: "verify-processes";
      readonly lane: "verify";
      readonly names: readonly string[];
      readonly roots: readonly string[];
    };

export interface LeafHold {
  readonly name: string;
  readonly reason: string;
}

export interface LeafPlan {
  readonly steps: readonly LeafStep[];
  readonly holds: readonly LeafHold[];
  readonly requeueAfterMs: number | undefined;
  /** Whether every process shows what its Secret holds, signed by the intermediate of now. */
  readonly settled: boolean;
}

/** Past this share of its life a certificate is renewed even if somebody does not trust the new root yet. */
const PRESSING_PERCENT = 90;
const SOON_MS = 1000;
/** In one go; the rest follows at once, and other work gets its turn. */
const MOST_AT_ONCE = 200;

export function planLeaves(input: LeafInput, now: Date): LeafPlan {
  const { authority, intermediate } = input;
  if (!authority.ready) return waiting("authority-not-ready", authority.why);
  if (intermediate.found !== "certificate" || intermediate.root === undefined) {
    return waiting("intermediate-not-ready", `the intermediate of ${input.deployment} is not issued yet`);
  }
  const signer = { ...intermediate, root: intermediate.root };
  const roots = trustOf(input, authority.trusted);
  const due = input.members.filter((member) => isDue(member, signer, input.rotateBeforePercent, now));
  const { allowed, hold } = allow(input, due, signer, now);
  const issued = new Set(allowed);
  const distrusting = input.members.filter(
    (member) => !issued.has(member) && member.held.found === "certificate" && !sameSet(member.held.trusts, roots),
  );
  const asked = [authority.root, authority.next, signer.root].filter((root) => root !== undefined);
  const unproven = input.members.filter((member) => needsLook(member, asked));
  const ready = unproven.filter(({ process }) => process !== undefined && process.lookAt <= now);
  const steps = [
    ...step("issue-certificates", "write", allowed, roots),
    ...step("change-trust", "write", distrusting, roots),
    ...step("verify-processes", "verify", ready, [...new Set(asked)]),
  ];
  return {
    steps,
    holds: hold === undefined ? [] : [hold],
    // What the steps have come to is looked at soon: it changes when the next look is due.
    requeueAfterMs: steps.length > 0 ? SOON_MS : nextLook(input, unproven, now),
    settled: due.length === 0 && input.members.every(isSettled),
  };
}

function waiting(name: string, reason: string): LeafPlan {
  return { steps: [], holds: [{ name, reason }], requeueAfterMs: undefined, settled: false };
}

function step<D extends LeafStep["do"], L extends LeafStep["lane"]>(
  name: D,
  lane: L,
  members: readonly LeafMember[],
  roots: readonly string[],
) {
  const names = members.slice(0, MOST_AT_ONCE).map((member) => member.name);
  return names.length === 0 ? [] : [{ do: name, lane, names, roots } as const];
}

/**
 * Roots that the authority does not know (its Secret was lost, or replaced by hand) stay trusted until every process
 * shows a certificate under one that it knows.
 */
function trustOf({ members }: LeafInput, trusted: readonly string[]): readonly string[] {
  const known = new Set(trusted);
  const moved = members.every((member) => {
    if (member.held.found !== "certificate") return true;
    return member.held.root !== undefined && known.has(member.held.root) && isShown(member);
  });
  if (moved) return trusted;
  const kept = members.flatMap(({ held }) => (held.found === "certificate" ? held.trusts : []));
  return [...trusted, ...new Set(kept.filter((root) => !known.has(root)))];
}

function isShown({ held, process }: LeafMember): boolean {
  if (process === undefined) return true;
  return held.found === "certificate" && process.shows === held.thumbprint;
}

function isSettled(member: LeafMember): boolean {
  return member.held.found === "certificate" && isShown(member);
}

function isDue({ held, request }: LeafMember, signer: Held, percent: number, now: Date): boolean {
  if (held.found !== "certificate") return true;
  if (held.issuer !== signer.thumbprint || held.request !== request) return true;
  return whenToRotate(held.notBefore, held.notAfter, percent) <= now;
}

interface Allowed {
  readonly allowed: readonly LeafMember[];
  readonly hold?: LeafHold;
}

/** What is missing, broken or about to end is issued at once; the rest waits until all trust the root it comes under. */
function allow(input: LeafInput, due: readonly LeafMember[], signer: Held & { root: string }, now: Date): Allowed {
  const distrusting = input.members.filter((member) => refuses(member, signer.root));
  if (distrusting.length === 0) return { allowed: due };
  const pressing = due.filter(({ held }) => isPressing(held, now));
  if (pressing.length === due.length) return { allowed: due };
  const names = someOf(distrusting.map(({ name }) => name));
  const reason = `certificates of ${input.deployment} are renewed when all of its agents trust the new root; waiting for ${names}`;
  return { allowed: pressing, hold: { name: "new-root-not-trusted", reason } };
}

/**
 * A process whose Secret is under the root trusts it: that was proven before the Secret came under it, or it has been
 * started with it since. So one that cannot be reached does not hold up renewals under the same root.
 */
function refuses({ held, process }: LeafMember, root: string): boolean {
  if (process === undefined || held.found !== "certificate") return false;
  return held.root !== root && !process.accepts.includes(root);
}

function isPressing(held: CertificateView, now: Date): boolean {
  if (held.found !== "certificate") return true;
  const life = held.notAfter.getTime() - held.notBefore.getTime();
  return now.getTime() >= held.notBefore.getTime() + (life * PRESSING_PERCENT) / 100;
}

/** Until it shows what its Secret holds and has accepted us under every root that matters. */
function needsLook(member: LeafMember, roots: readonly string[]): boolean {
  const { process, held } = member;
  if (process === undefined || held.found !== "certificate") return false;
  if (!isShown(member)) return true;
  return roots.some((root) => held.trusts.includes(root) && !process.accepts.includes(root));
}

function nextLook({ members, rotateBeforePercent }: LeafInput, unproven: readonly LeafMember[], now: Date) {
  const looks = unproven.map(({ process }) => process?.lookAt.getTime() ?? Number.POSITIVE_INFINITY);
  const dues = members.map(({ held }) =>
    held.found === "certificate"
      ? whenToRotate(held.notBefore, held.notAfter, rotateBeforePercent).getTime()
      : Number.POSITIVE_INFINITY,
  );
  const next = [...looks, ...dues].filter((time) => time > now.getTime()).reduce((a, b) => Math.min(a, b), Infinity);
  return Number.isFinite(next) ? next - now.getTime() : undefined;
}
