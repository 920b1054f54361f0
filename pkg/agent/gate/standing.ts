/** What a node would bring to its shard: the base of every decision at the gate. Plain values, comparable in one order. */

export interface Standing {
  readonly node: string;
  /** Its number in the shard. */
  readonly member: number;
  /** Whether its server was let in and lives. Loading its data counts, and so does not answering: it may take writes. */
  readonly running: boolean;
  /** Whether it was told to end for good: it holds its copy, but will not start. */
  readonly retired: boolean;
  /** In memory, or on disk while it does not run. */
  readonly hasData: boolean;
  /** Configuration epoch of its shard as it knows it. */
  readonly epoch: bigint;
  /** How far its data is in the stream of writes; 0n when that cannot be told. */
  readonly offset: bigint;
  /** Whether it is, or was when it last ran, the primary that owns the shard's slots, and is not known to be deposed. */
  readonly primary: boolean;
  /** Its id in the cluster; empty when it has none yet. */
  readonly nodeId: string;
}

/** Positive when `a` holds the newer copy. Never 0 for two members of one shard: their numbers differ. */
export function compareCopies(a: Standing, b: Standing): number {
  return (
    Number(a.hasData) - Number(b.hasData) ||
    compareNumbers(a.epoch, b.epoch) ||
    compareNumbers(a.offset, b.offset) ||
    Number(a.primary) - Number(b.primary) ||
    b.member - a.member
  );
}

function compareNumbers(a: bigint, b: bigint): number {
  if (a === b) return 0;
  return a > b ? 1 : -1;
}

/** Another member of the shard, as it is known in this moment. */
export type Peer =
  | { readonly node: string; readonly known: "answered"; readonly standing: Standing }
  /** The operator said that its copy does not count. */
  | { readonly node: string; readonly known: "lost" }
  | { readonly node: string; readonly known: "silent"; readonly why: string };

/** The peer that leads the shard now; of several, which a partition can leave behind, the one of the newest epoch. */
export function leaderAmong(peers: readonly Peer[]): Standing | undefined {
  return standingsOf(peers)
    .filter(({ running, primary }) => running && primary)
    .toSorted((a, b) => compareCopies(b, a))[0];
}

export function standingsOf(peers: readonly Peer[]): readonly Standing[] {
  return peers.flatMap((peer) => (peer.known === "answered" ? [peer.standing] : []));
}

export function silentOnes(peers: readonly Peer[]): readonly Extract<Peer, { known: "silent" }>[] {
  return peers.filter((peer) => peer.known === "silent");
}
