/** The shards as they are when a run begins: gaps are told per shard, and a shard keeps its name through failovers. */
import { SLOT_COUNT, slotOf } from "./slots.ts";
import { addressText, type Topology } from "./topology.ts";

export interface Shard {
  /** The primary's address at the start. */
  readonly name: string;
  /** For people, such as "0-5460". */
  readonly slots: string;
  readonly has: (slot: number) => boolean;
}

export function shardsOf(topology: Topology): Shard[] {
  const slots = new Map<string, Set<number>>();
  for (let slot = 0; slot < SLOT_COUNT; slot++) {
    const owner = topology.owner(slot);
    if (owner === undefined) continue;
    const name = addressText(owner);
    slots.set(name, (slots.get(name) ?? new Set()).add(slot));
  }
  return [...slots].map(([name, set]) => ({ name, slots: rangesText([...set]), has: (slot) => set.has(slot) }));
}

/** A key that nobody had before and that falls into the shard: the number first, then whatever makes it fit. */
export function keyFor(shard: Shard, prefix: string, number: number): string {
  for (let turn = 0; ; turn++) {
    const key = `${prefix}:${number}:${turn}`;
    if (shard.has(slotOf(key))) return key;
  }
}

function rangesText(slots: readonly number[]): string {
  const ranges: [number, number][] = [];
  for (const slot of slots) {
    const last = ranges.at(-1);
    if (last !== undefined && last[1] === slot - 1) last[1] = slot;
    else ranges.push([slot, slot]);
  }
  return ranges.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(",");
}
