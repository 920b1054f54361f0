/** What a voter knows of each shard and must not forget: how far its epoch is, and which copies may lead. */

export interface InSyncMember {
  readonly node: string;
  /** The run of its server that is in sync: a restarted one has what its disk has. */
  readonly run: string;
}

export interface InSyncSet {
  /** Grows with every change within an epoch. */
  readonly version: number;
  readonly members: readonly InSyncMember[];
}

export interface ShardMemory {
  readonly epoch: number;
  readonly inSync: InSyncSet;
}

/** What a voter keeps over a restart of its agent, and tells to voters that are new. */
export interface RememberedShard {
  readonly memory: ShardMemory;
  /** Whom the lease was given to last. */
  readonly holder: string | undefined;
  /** Whether it was only promised. */
  readonly promise: boolean;
  /** In which epoch. That of the shard may be known to be higher, and not yet who leads in it. */
  readonly grantEpoch: number;
}

export const NOTHING_KNOWN: ShardMemory = { epoch: 0, inSync: { version: 0, members: [] } };

/** The later of two; a set belongs to the epoch in which its primary wrote it. */
export function laterMemory(a: ShardMemory, b: ShardMemory): ShardMemory {
  if (a.epoch !== b.epoch) return a.epoch > b.epoch ? a : b;
  return a.inSync.version >= b.inSync.version ? a : b;
}

export function isInSync({ members }: InSyncSet, node: string, run: string): boolean {
  return members.some((member) => member.node === node && member.run === run);
}

export function sameMembers(a: readonly InSyncMember[], b: readonly InSyncMember[]): boolean {
  return a.length === b.length && a.every(({ node, run }, index) => b[index]?.node === node && b[index]?.run === run);
}

/** What two voters remember, put together: a promise is later than the lease that it replaces. */
export function laterRemembered(a: RememberedShard, b: RememberedShard): RememberedShard {
  const memory = laterMemory(a.memory, b.memory);
  const { holder, promise, grantEpoch } = outranks(b, a) ? b : a;
  return { memory, holder, promise, grantEpoch };
}

function outranks(a: RememberedShard, b: RememberedShard): boolean {
  if (a.holder === undefined || b.holder === undefined) return b.holder === undefined;
  if (a.grantEpoch !== b.grantEpoch) return a.grantEpoch > b.grantEpoch;
  return a.promise && !b.promise;
}
