/**
 * Under which epoch each stream of writes was written, kept beside the data. The cluster table of a stopped server tells
 * the epoch of its place in the cluster, not of its data: an old snapshot, or a replica that never synced with its new
 * primary, would claim to be the newest. A snapshot names its stream (the replication id), and this file its epoch.
 */
import { join } from "node:path";
import * as v from "valibot";
import { readIfThere, writeWhole } from "../files.ts";

const KEPT = 16;
const FILE = "agent-eras.json";

const ZERO = v.optional(v.number(), 0);

const SCHEMA = v.object({
  /** Oldest first. */
  eras: v.array(v.object({ stream: v.string(), epoch: v.number(), base: ZERO, from: ZERO, before: ZERO })),
  /** Where the running server was when it was last looked at: all that is known of data that does not name its stream. */
  last: v.object({ epoch: v.number(), offset: v.number() }),
});
type Content = v.InferOutput<typeof SCHEMA>;

const NOTHING: Content = { eras: [], last: { epoch: 0, offset: 0 } };

export interface Claim {
  /** Under which the data was written. */
  readonly epoch: number;
  /** How far the data was when its stream began. */
  readonly base: number;
}

/** A time in which one primary wrote. */
export interface Era extends Claim {
  readonly stream: string;
  /**
   * How far the data was when it began, and the epoch of what was written before. A replica is in its new primary's stream
   * before it has got anything of it: a copy that does not reach to here has the older data.
   */
  readonly from: number;
  readonly before: number;
}

const NO_CLAIM: Claim = { epoch: 0, base: 0 };

export class Eras {
  readonly #path: string;
  #content: Content;

  constructor(data: string) {
    this.#path = join(data, FILE);
    const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), SCHEMA), readIfThere(this.#path) ?? "");
    this.#content = parsed.success ? parsed.output : NOTHING;
  }

  /**
   * What a server has, if its streams are known; else, if it was started from an append-only file, what its server had when
   * it was last seen: it counts from 0 again in a stream of its own.
   */
  claimOf(streams: readonly string[], offset: number, appendOnly: () => boolean): Claim {
    const known = this.eraOf(streams);
    if (known !== undefined) return reached(known, offset);
    const { last } = this.#content;
    return appendOnly() ? { epoch: last.epoch, base: Math.max(0, last.offset - offset) } : NO_CLAIM;
  }

  /** Of the first of these that is known. */
  eraOf(streams: readonly string[]): Era | undefined {
    for (const stream of streams) {
      const era = stream === "" ? undefined : this.#content.eras.findLast((known) => known.stream === stream);
      if (era !== undefined) return era;
    }
    return undefined;
  }

  get last(): Content["last"] {
    return this.#content.last;
  }

  /** On disk before it returns. One that has begun goes on: where it began, its first word tells. */
  begin(era: Era): void {
    const known = this.eraOf([era.stream]);
    if (era.stream === "" || (known?.epoch === era.epoch && known.base === era.base)) return;
    const others = this.#content.eras.filter(({ stream }) => stream !== era.stream);
    this.#keep({ ...this.#content, eras: [...others, era].slice(-KEPT) });
  }

  /** Of a stream that is known; what is not would hide what was noted before it. */
  noteLast(streams: readonly string[], counted: number): void {
    const known = this.eraOf(streams);
    if (known === undefined) return;
    const { last } = this.#content;
    const [{ epoch }, offset] = [reached(known, counted), known.base + counted];
    if (last.epoch !== epoch || last.offset !== offset) this.#keep({ ...this.#content, last: { epoch, offset } });
  }

  /** The data on disk is none of the running server's any more. */
  forgetLast(): void {
    this.#keep({ ...this.#content, last: NOTHING.last });
  }

  #keep(content: Content): void {
    writeWhole(this.#path, JSON.stringify(content));
    this.#content = content;
  }
}

/** What a copy has that is so far in the stream of an era. */
function reached({ epoch, base, from, before }: Era, offset: number): Claim {
  return { base, epoch: base + offset < from ? before : epoch };
}
