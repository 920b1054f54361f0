/** What a Lease says: who holds it, since when, for how long, and how often it changed hands. */
import * as v from "valibot";
import { LEASES, ObjectMetaSchema, typed } from "./resource.ts";

const LeaseSchema = v.object({
  metadata: ObjectMetaSchema,
  spec: v.optional(
    v.object({
      holderIdentity: v.nullish(v.string(), ""),
      leaseDurationSeconds: v.nullish(v.number(), 0),
      leaseTransitions: v.nullish(v.number(), 0),
      acquireTime: v.nullish(v.string(), ""),
      renewTime: v.nullish(v.string(), ""),
    }),
    {},
  ),
});
export type Lease = v.InferOutput<typeof LeaseSchema>;

export const LEASE = typed<Lease>(LEASES, (value) => v.parse(LeaseSchema, value));

export interface LeaseClaim {
  /** Empty when nobody holds it. */
  readonly holder: string;
  readonly durationMs: number;
  readonly transitions: number;
  /** In the holder's own time of day: for people; nobody else counts with it. */
  readonly acquiredAt: string;
  readonly renewedAt: string;
}

export interface LeaseRecord extends LeaseClaim {
  readonly uid: string;
  readonly resourceVersion: string;
}

export function recordOf({ metadata, spec }: Lease): LeaseRecord {
  return {
    holder: spec.holderIdentity ?? "",
    durationMs: (spec.leaseDurationSeconds ?? 0) * 1000,
    transitions: spec.leaseTransitions ?? 0,
    acquiredAt: spec.acquireTime ?? "",
    renewedAt: spec.renewTime ?? "",
    uid: metadata.uid ?? "",
    resourceVersion: metadata.resourceVersion ?? "",
  };
}

export function specOf(claim: LeaseClaim): object {
  return {
    holderIdentity: claim.holder,
    leaseDurationSeconds: Math.max(1, Math.round(claim.durationMs / 1000)),
    leaseTransitions: claim.transitions,
    acquireTime: claim.acquiredAt,
    renewTime: claim.renewedAt,
  };
}

/** Whether two looks at a lease show the same claim: its holder did nothing in between. */
export function sameClaim(a: LeaseRecord, b: LeaseRecord): boolean {
  return a.uid === b.uid && a.holder === b.holder && a.transitions === b.transitions && a.renewedAt === b.renewedAt;
}

/** Kubernetes' MicroTime. */
export function microTime(wallMs: number): string {
  return new Date(wallMs).toISOString().replace("Z", "000Z");
}

/** 2024-01-01: what the floor of tokens counts from. */
const TOKEN_EPOCH_MS = Date.UTC(2024, 0, 1);
/** leaseTransitions is a signed 32-bit number: seconds fit until 2092. */
const LARGEST_TOKEN = 2 ** 31 - 1;

/**
 * The token of the next term: above the last one, and at least the seconds since 2024. Agents refuse commands with a
 * lower token than they have seen, so a plain count would lock the operator out for ever once the Lease is deleted or
 * comes back from an older backup of etcd; with the floor the count never falls behind. A wrong clock does no harm
 * beyond that: without the floor it is still one more than the last.
 */
export function nextToken(last: number, wallMs: number): number {
  const floor = Math.floor((wallMs - TOKEN_EPOCH_MS) / 1000);
  return Math.min(LARGEST_TOKEN, Math.max(last + 1, floor));
}

/**
 * How long to wait before a Lease is made by somebody who never saw one: until the floor is above every token that an
 * earlier Lease, deleted a moment ago, can have given out.
 */
export function untilNextToken(wallMs: number): number {
  return 1000 - (wallMs % 1000);
}
