/** Which slots a shard begins with: all of them split evenly, what is left over to the first shards. */
export const SLOTS = 16_384;

/** A run of slots, both ends included. */
export interface SlotRun {
  readonly first: number;
  readonly last: number;
}

export function slotsOfShard(shard: number, shards: number): SlotRun {
  const each = Math.floor(SLOTS / shards);
  const over = SLOTS % shards;
  const first = shard * each + Math.min(shard, over);
  return { first, last: first + each + (shard < over ? 1 : 0) - 1 };
}
