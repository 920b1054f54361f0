/**
 * What to do about a ValkeyCA: make its root when there is none, replace one that the operator made before it ends, and
 * say plainly when the one that is there will not do.
 *
 * A root is replaced in steps, each decided anew from its Secret and from what handshakes with the agents have told:
 * the next one is made and trusted beside the old one, and signs nothing; when everybody trusts it, it signs; when
 * nothing that the old one signed is in use any more, the old one is not trusted any more.
 */
import type { ValkeyCASpec, ValkeyCAStatus } from "../api/ca.ts";
import { someOf } from "./certificates/view.ts";

/** What the Secret that a ValkeyCA names holds. */
export type RootView =
  /** It was not read yet. */
  | { readonly found: "unknown" }
  | { readonly found: "nothing" }
  | { readonly found: "unusable"; readonly why: string }
  | ({ readonly found: "root" } & Root);

export interface Root {
  readonly thumbprint: string;
  readonly notBefore: Date;
  readonly notAfter: Date;
  /** Whether the operator made it, and so may replace it. */
  readonly made: boolean;
  /** Trusted already, signs later. */
  readonly next?: { readonly thumbprint: string; readonly since: Date } | undefined;
  /** Trusted still, signs no more. */
  readonly old: readonly { readonly thumbprint: string; readonly notAfter: Date }[];
  /** When the one that signs began to; undefined for the first. */
  readonly signsSince?: Date | undefined;
  /** The last wish of the user for a new root that was met. */
  readonly rotation?: string | undefined;
  /** The key of the next root is in the place of the old one's, its certificate is not yet: the writer was cut off. */
  readonly halfChanged?: boolean | undefined;
}

/** How far those who trust or use the root's certificates are. */
export interface RootUsers {
  /** Who does not trust the next root yet. */
  readonly distrusting: readonly string[];
  /** Who still uses what a root signed that is not the one of now, or was not asked yet. */
  readonly behind: readonly string[];
  /** When the operator's own identity last came under another root or trusted others; undefined: never. */
  readonly operatorSince: Date | undefined;
}

export interface CAInput {
  readonly spec: ValkeyCASpec;
  readonly root: RootView;
  readonly users: RootUsers;
  /** The user's wish for a new root: any text, new with every wish. */
  readonly rotation: string | undefined;
}

export interface CAStep {
  readonly do: "make-root" | "make-next-root" | "sign-with-next-root" | "drop-old-roots";
}

export interface CAHold {
  readonly name: string;
  readonly reason: string;
}

export interface CAPlan {
  readonly steps: readonly CAStep[];
  readonly holds: readonly CAHold[];
  readonly status: Pick<ValkeyCAStatus, "phase" | "message" | "thumbprint" | "notBefore" | "notAfter">;
  readonly requeueAfterMs?: number;
}

const DAY_MS = 86_400_000;
/** Share of its life after which a root gets a successor. */
const NEXT_SHARE = 0.75;
/** A root that is nearer to its end than this share of its life is shown as expiring. */
const EXPIRING_SHARE = 0.2;
/** Past this share nobody is waited for any more: what the old root signed ends soon. */
const PRESSING_SHARE = 0.95;
/** Replicas of the operator read their identity by a watch; none is behind for so long and still at work. */
const SETTLE_MS = 20_000;
/** Clients of users trust a copy of the root: they get this long to fetch the new one, or a share of its life. */
const OVERLAP_MS = 30 * DAY_MS;
const OVERLAP_SHARE = 0.05;
const LOOK_AGAIN_MS = 3_600_000;
const LOOK_SOON_MS = 5000;

export function planCA(input: CAInput, now: Date): CAPlan {
  const { spec, root } = input;
  switch (root.found) {
    case "unknown":
      return pending(`reading ${placeOf(spec)}`);
    case "nothing":
      return spec.secretType === "SecretsStore" ? missingInStore(spec) : making(spec);
    case "unusable":
      return held("root-unusable", `${placeOf(spec)}: ${root.why}; ${remedy(spec)}`);
    case "root":
      return planRoot(input, root, now);
  }
}

function placeOf({ secretType, caCertSecretRef, caKeySecretRef }: ValkeyCASpec): string {
  const names = caKeySecretRef === undefined ? caCertSecretRef : `${caCertSecretRef} with ${caKeySecretRef}`;
  return secretType === "SecretsStore" ? `folder ${names} of the secrets store` : `Secret ${names}`;
}

function remedy({ secretType, caKeySecretRef }: ValkeyCASpec): string {
  const what = "put a root certificate and its key there as tls.crt and tls.key";
  if (secretType === "SecretsStore") return what;
  return `${what}, or delete the Secret${caKeySecretRef === undefined ? "" : "s"} to have one made`;
}

function pending(message: string): CAPlan {
  return { steps: [], holds: [], status: { phase: "Pending", message } };
}

function making(spec: ValkeyCASpec): CAPlan {
  const message = `making a root certificate in Secret ${spec.caCertSecretRef}`;
  return { ...pending(message), steps: [{ do: "make-root" }] };
}

function missingInStore(spec: ValkeyCASpec): CAPlan {
  return held(
    "root-missing",
    `${placeOf(spec)} holds no root; the operator only reads the secrets store: mount a volume of it with tls.crt and tls.key at --secrets-store-path`,
  );
}

function held(name: string, reason: string): CAPlan {
  const status = { phase: "Error", message: reason } as const;
  return { steps: [], holds: [{ name, reason }], status, requeueAfterMs: LOOK_AGAIN_MS };
}

function planRoot(input: CAInput, root: Root, now: Date): CAPlan {
  const decided = decide(input, root, now);
  return {
    steps: decided.step === undefined ? [] : [{ do: decided.step }],
    holds: decided.hold === undefined ? [] : [decided.hold],
    status: statusOf(root, decided, now),
    requeueAfterMs: decided.requeueAfterMs ?? LOOK_AGAIN_MS,
  };
}

interface Decision {
  readonly step?: CAStep["do"];
  readonly hold?: CAHold;
  readonly requeueAfterMs?: number;
}

function decide({ spec, users, rotation }: CAInput, root: Root, now: Date): Decision {
  if (root.halfChanged === true) return { step: "sign-with-next-root" };
  if (!root.made || spec.secretType === "SecretsStore") return {};
  if (root.next !== undefined) return toNext(root, root.next.since, users, now);
  if (root.old.length > 0) return fromOld(root, users, now);
  const wished = rotation !== undefined && rotation !== root.rotation;
  return wished || shareOf(root, now) >= NEXT_SHARE ? { step: "make-next-root" } : {};
}

function toNext(root: Root, made: Date, users: RootUsers, now: Date): Decision {
  const { distrusting } = users;
  const since = later(made, users.operatorSince);
  const age = now.getTime() - since.getTime();
  const pressing = shareOf(root, now) >= PRESSING_SHARE;
  // A root that gets a successor before its time does so because somebody wished it, and not in a month.
  const overlap = shareOf(root, now) < NEXT_SHARE ? SETTLE_MS : overlapOf(root);
  if (!pressing && distrusting.length > 0) {
    const reason = `the next root signs when all trust it; waiting for ${someOf(distrusting)}`;
    return { hold: { name: "next-root-not-trusted", reason }, requeueAfterMs: LOOK_SOON_MS };
  }
  if (!pressing && age < overlap) {
    const reason = `the next root is trusted beside the old one until ${new Date(since.getTime() + overlap).toISOString()}, then it signs`;
    return { hold: { name: "next-root-is-new", reason }, requeueAfterMs: overlap - age };
  }
  return { step: "sign-with-next-root" };
}

/** Replicas of the operator cannot be asked by a handshake: from the writing of their Secret on they get their time. */
function later(a: Date, b: Date | undefined): Date {
  return b !== undefined && b > a ? b : a;
}

function fromOld(root: Root, { behind, operatorSince }: RootUsers, now: Date): Decision {
  if (root.old.every(({ notAfter }) => notAfter <= now)) return { step: "drop-old-roots" };
  if (behind.length > 0) {
    const reason = `the old root is trusted until nothing that it signed is in use; waiting for ${someOf(behind)}`;
    return { hold: { name: "old-root-in-use", reason }, requeueAfterMs: LOOK_SOON_MS };
  }
  const age = now.getTime() - later(root.signsSince ?? new Date(0), operatorSince).getTime();
  if (age < SETTLE_MS) {
    const reason = "the old root is trusted for another moment, for replicas of the operator that are behind";
    return { hold: { name: "new-root-is-young", reason }, requeueAfterMs: SETTLE_MS - age };
  }
  return { step: "drop-old-roots" };
}

function lifeOf({ notBefore, notAfter }: Root): number {
  return notAfter.getTime() - notBefore.getTime();
}

function overlapOf(root: Root): number {
  return Math.max(SETTLE_MS, Math.min(OVERLAP_MS, lifeOf(root) * OVERLAP_SHARE));
}

function shareOf(root: Root, now: Date): number {
  const life = lifeOf(root);
  return life <= 0 ? 1 : (now.getTime() - root.notBefore.getTime()) / life;
}

function statusOf(root: Root, { hold, step }: Decision, now: Date): CAPlan["status"] {
  const { thumbprint, notBefore, notAfter } = root;
  const dates = { thumbprint, notBefore: notBefore.toISOString(), notAfter: notAfter.toISOString() };
  if (notAfter <= now)
    return { ...dates, phase: "Expired", message: "the root certificate has expired: nothing it signed is trusted" };
  const doing = hold?.reason ?? (step === undefined ? undefined : TELLING[step]);
  if (shareOf(root, now) > 1 - EXPIRING_SHARE)
    return { ...dates, phase: "Expiring", message: doing ?? `the root certificate is near its end${own(root)}` };
  return { ...dates, phase: "Ready", message: doing ?? "the root certificate is valid" };
}

function own({ made }: Root): string {
  return made ? "" : ": put a new one and its key into its Secret, with both certificates in ca.crt";
}

const TELLING: Readonly<Record<CAStep["do"], string>> = {
  "make-root": "making a root certificate",
  "make-next-root": "making the next root certificate",
  "sign-with-next-root": "the next root certificate signs from now on",
  "drop-old-roots": "the old root certificate is not trusted any more",
};
