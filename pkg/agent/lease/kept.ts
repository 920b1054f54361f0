/** What an agent must find again after a restart of itself, on a tmpfs that lives as long as its pod. */
import { openSync, writeSync } from "node:fs";
import * as v from "valibot";
import type { Persisted } from "../../plan/lease/context.ts";
import { OWNER_ONLY, readIfThere, writeWhole } from "../files.ts";
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
const SHARD = v.object({
  memory: MEMORY,
  holder: v.nullable(v.string()),
  promise: v.boolean(),
  grantEpoch: v.number(),
});
const SCHEMA = v.object({
  lease: v.nullable(v.object({ electionUntil: v.nullable(v.number()), shards: v.array(SHARD) })),
  addresses: v.record(v.string(), v.object({ nodeId: v.string(), ip: v.string() })),
});

const NOTHING: Kept = { lease: undefined, addresses: {} };
const NEVER = Number.NEGATIVE_INFINITY;
/** Longer than any time in milliseconds. */
const TIME_CHARACTERS = 24;

/**
 * The end of the lease changes with every renewal, and is all that does: it has a file of its own, which is written over
 * in place. Everything else is one file that is exchanged as a whole.
 */
export class KeptFile {
  readonly #path: string;
  #written = "";
  #until: number | undefined;
  #untilFile: number | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /** A file that cannot be read counts as none: the agent then waits and asks the others what was granted. */
  read(): Kept {
    const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), SCHEMA), readIfThere(this.#path) ?? "");
    if (!parsed.success) return NOTHING;
    const { lease, addresses } = parsed.output;
    if (lease === null) return { lease: undefined, addresses };
    const shards = lease.shards.map(({ holder, ...shard }) => ({ ...shard, holder: holder ?? undefined }));
    const electionUntil = lease.electionUntil ?? undefined;
    return { lease: { leaseUntil: this.#readUntil(), electionUntil, shards }, addresses };
  }

  write({ lease, addresses }: Kept): void {
    const plain = lease && {
      electionUntil: lease.electionUntil ?? null,
      shards: lease.shards.map(({ holder, ...shard }) => ({ ...shard, holder: holder ?? null })),
    };
    const text = JSON.stringify({ lease: plain ?? null, addresses });
    if (text !== this.#written) writeWhole(this.#path, text);
    this.#written = text;
    this.#writeUntil(lease?.leaseUntil ?? NEVER);
  }

  get #untilPath(): string {
    return `${this.#path}.until`;
  }

  #readUntil(): number {
    const text = readIfThere(this.#untilPath)?.trim() ?? "";
    const until = Number(text);
    return text === "" || Number.isNaN(until) ? NEVER : until;
  }

  #writeUntil(until: number): void {
    if (until === this.#until) return;
    this.#untilFile ??= openSync(this.#untilPath, "w", OWNER_ONLY);
    writeSync(this.#untilFile, String(until).padEnd(TIME_CHARACTERS), 0);
    this.#until = until;
  }
}
