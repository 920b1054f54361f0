/** What an agent must find again after a restart of itself, on a tmpfs that lives as long as its pod. */
import * as v from "valibot";
import type { Persisted } from "../../plan/lease/context.ts";
import { readIfThere, writeWhole } from "../files.ts";
import type { Heard } from "./addresses.ts";

export interface Kept {
  /** Undefined until something was granted or held. */
  readonly lease: Persisted | undefined;
  readonly addresses: Readonly<Record<string, Heard>>;
}

const MEMBER = v.object({ node: v.string(), run: v.string() });
const MEMORY = v.object({
  epoch: v.number(),
  inSync: v.object({ version: v.number(), members: v.array(MEMBER) }),
});
/** JSON has no word for what never was. */
const TIME = v.pipe(
  v.nullable(v.number()),
  v.transform((ms) => ms ?? Number.NEGATIVE_INFINITY),
);
const SCHEMA = v.object({
  lease: v.nullable(
    v.object({
      leaseUntil: TIME,
      electionUntil: v.nullable(v.number()),
      shards: v.array(v.object({ memory: MEMORY, holder: v.nullable(v.string()), promise: v.boolean() })),
    }),
  ),
  addresses: v.record(v.string(), v.object({ nodeId: v.string(), ip: v.string() })),
});

const NOTHING: Kept = { lease: undefined, addresses: {} };

/** A file that cannot be read counts as none: the agent then waits and asks the others what was granted. */
export function readKept(path: string): Kept {
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), SCHEMA), readIfThere(path) ?? "");
  if (!parsed.success) return NOTHING;
  const { lease, addresses } = parsed.output;
  if (lease === null) return { lease: undefined, addresses };
  const { leaseUntil, electionUntil, shards } = lease;
  return {
    lease: {
      leaseUntil,
      electionUntil: electionUntil ?? undefined,
      shards: shards.map(({ memory, holder, promise }) => ({ memory, holder: holder ?? undefined, promise })),
    },
    addresses,
  };
}

export function writeKept(path: string, { lease, addresses }: Kept): void {
  const plain =
    lease === undefined
      ? null
      : {
          leaseUntil: Number.isFinite(lease.leaseUntil) ? lease.leaseUntil : null,
          electionUntil: lease.electionUntil ?? null,
          shards: lease.shards.map(({ memory, holder, promise }) => ({ memory, holder: holder ?? null, promise })),
        };
  writeWhole(path, JSON.stringify({ lease: plain, addresses }));
}
