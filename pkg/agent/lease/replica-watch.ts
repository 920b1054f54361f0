/**
 * How far the replicas of the own server are behind, sharper than the server tells it. What it says of a replica is the
 * offset that it last acknowledged and, in whole seconds, how long ago. Here that offset is held against what the own one
 * was at earlier looks: a replica that has all that there was then misses no more than what came since.
 */
import type { ServerLook } from "../server-control.ts";

export interface SeenReplica {
  readonly ip: string;
  readonly port: number;
  /** Gets the stream. */
  readonly online: boolean;
  /** At the look it had everything that the server had taken so long before, and maybe more. Infinite when that is not known. */
  readonly behindMs: number;
  /** It has surely acknowledged after that. */
  readonly ackedAfter: number;
}

interface Mark {
  readonly at: number;
  readonly offset: bigint;
}

interface Acknowledged {
  readonly offset: bigint;
  readonly after: number;
  /** When the look began that showed it. */
  readonly seenAt: number;
}

/** More than a replica in sync may be behind. */
const KEPT_MS = 4000;
/** Of looks that come sooner, one is kept. */
const APART_MS = 100;
/**
 * Replicas acknowledge once a second by themselves, which is as often as a settled server is looked at: now and then no word
 * would come between two looks, and the one before would be two looks old.
 */
const ASK_BEHIND_MS = 900;
const SECOND_MS = 1000;

export class ReplicaWatch {
  #stream = "";
  #marks: readonly Mark[] = [];
  #acknowledged: ReadonlyMap<string, Acknowledged> = new Map();
  #seen: { readonly in: ServerLook | undefined; readonly replicas: readonly SeenReplica[] } = {
    in: undefined,
    replicas: [],
  };

  /** What a look tells that began at a time; each look counts once. */
  see(look: ServerLook, at: number): readonly SeenReplica[] {
    if (this.#seen.in !== look) this.#seen = { in: look, replicas: this.#read(look, at) };
    return this.#seen.replicas;
  }

  /** Whether a replica is to be asked how far it is, because it has not said so for too long by itself. */
  static mustAsk(replicas: readonly SeenReplica[]): boolean {
    return replicas.some(({ online, behindMs }) => online && behindMs > ASK_BEHIND_MS);
  }

  #read({ runId, streams, replication, lags }: ServerLook, at: number): readonly SeenReplica[] {
    const stream = `${runId} ${streams[0] ?? ""}`;
    if (stream !== this.#stream) this.#begin(stream);
    if (replication === undefined || replication.replicas.length === 0) {
      this.#begin(stream);
      return [];
    }
    this.#marks = withMark(this.#marks, { at, offset: replication.offset });
    const acknowledged = new Map<string, Acknowledged>();
    const replicas = replication.replicas.map(({ ip, port, online, offset }): SeenReplica => {
      const key = `${ip} ${port}`;
      const lag = lags.find((each) => each.ip === ip && each.port === port)?.lagSeconds ?? Number.POSITIVE_INFINITY;
      // Told in whole seconds, the rest cut off.
      const told = at - (lag + 1) * SECOND_MS;
      const after = Math.max(told, shownBy(this.#acknowledged.get(key), offset));
      acknowledged.set(key, { offset, after, seenAt: at });
      return { ip, port, online, behindMs: at - this.#hadAt(offset), ackedAfter: after };
    });
    this.#acknowledged = acknowledged;
    return replicas;
  }

  #begin(stream: string): void {
    this.#stream = stream;
    this.#marks = [];
    this.#acknowledged = new Map();
  }

  /** The latest time at which the server had no more than this. */
  #hadAt(offset: bigint): number {
    return this.#marks.findLast((mark) => mark.offset <= offset)?.at ?? Number.NEGATIVE_INFINITY;
  }
}

/** An offset that has grown was acknowledged after the look that did not show it yet. */
function shownBy(before: Acknowledged | undefined, offset: bigint): number {
  if (before === undefined) return Number.NEGATIVE_INFINITY;
  return offset > before.offset ? before.seenAt : before.after;
}

function withMark(marks: readonly Mark[], mark: Mark): readonly Mark[] {
  const [before, last] = [marks.at(-2), marks.at(-1)];
  const close = before !== undefined && last !== undefined && last.at - before.at < APART_MS;
  const others = close || last?.offset === mark.offset ? marks.slice(0, -1) : marks;
  return [...others.filter(({ at }) => mark.at - at <= KEPT_MS), mark];
}
