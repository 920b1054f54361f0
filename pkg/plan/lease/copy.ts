/** Copies of a shard's data, and which is the newest. */

export type Phase = "absent" | "gated" | "loading" | "running" | "silent";
export type Role = "primary" | "replica";

/** What a member of a shard is and has, as its agent tells the others. */
export interface Standing {
  readonly node: string;
  readonly shard: number;
  readonly member: number;
  /** New at every start of the server's process; empty when there is none. */
  readonly run: string;
  readonly phase: Phase;
  /** Of a running server. */
  readonly role: Role | undefined;
  readonly hasData: boolean;
  /**
   * The epoch under which that data was written: of the lease of the primary that it was last in sync with, not of the one
   * that its cluster table names now. A replica that was told to follow a new primary and never synced has old data, and
   * a primary that won its election and never got the lease has written nothing in its new epoch.
   */
  readonly dataEpoch: number;
  readonly offset: number;
  /** The epoch of the shard in its own cluster table. */
  readonly tableEpoch: number;
  /** Whether it is the shard's primary, or was when it last ran. */
  readonly primary: boolean;
  readonly linkUp: boolean;
  readonly holdsLease: boolean;
  /** Whether its pod is going: nothing is handed over to it. */
  readonly leaving: boolean;
}

/** One thing by which copies are told apart; more is newer. */
export interface Rank {
  readonly name: string;
  readonly of: (copy: Standing) => number;
}

export const RANKS: readonly Rank[] = [
  { name: "has-data", of: ({ hasData }) => Number(hasData) },
  { name: "epoch-of-data", of: ({ dataEpoch }) => dataEpoch },
  { name: "offset", of: ({ offset }) => offset },
  { name: "was-primary", of: ({ primary }) => Number(primary) },
  { name: "lower-member", of: ({ member }) => -member },
];

/** Whether `a` is newer than `b`. The last rank tells any two members apart, so of two exactly one is newer. */
export function isNewer(ranks: readonly Rank[], a: Standing, b: Standing): boolean {
  for (const { of } of ranks) {
    const difference = of(a) - of(b);
    if (difference !== 0) return difference > 0;
  }
  return false;
}

/** Whether `a` holds data that `b` lacks, as far as epoch and offset tell. */
export function holdsMore(a: Standing, b: Standing): boolean {
  if (!a.hasData) return false;
  if (!b.hasData || a.dataEpoch !== b.dataEpoch) return !b.hasData || a.dataEpoch > b.dataEpoch;
  return a.offset > b.offset;
}
