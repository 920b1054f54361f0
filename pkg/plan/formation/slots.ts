/** Runs of slots: what is left of them, what they share. */
import type { SlotRun as SlotRange } from "../objects/slots.ts";

export { SLOTS, type SlotRun as SlotRange, slotsOfShard } from "../objects/slots.ts";

export function countSlots(ranges: readonly SlotRange[]): number {
  return ranges.reduce((sum, { first, last }) => sum + last - first + 1, 0);
}

export function overlaps(ranges: readonly SlotRange[], range: SlotRange): boolean {
  return ranges.some(({ first, last }) => first <= range.last && last >= range.first);
}

/** What is left of a range when others are taken away. */
export function without(range: SlotRange, taken: readonly SlotRange[]): readonly SlotRange[] {
  const left: SlotRange[] = [];
  let next = range.first;
  for (const { first, last } of taken.toSorted((a, b) => a.first - b.first)) {
    if (last < next || first > range.last) continue;
    if (first > next) left.push({ first: next, last: first - 1 });
    next = last + 1;
  }
  if (next <= range.last) left.push({ first: next, last: range.last });
  return left;
}

/** `0-5461, 9000` */
export function slotsText(ranges: readonly SlotRange[]): string {
  return ranges.map(({ first, last }) => (first === last ? `${first}` : `${first}-${last}`)).join(", ");
}
