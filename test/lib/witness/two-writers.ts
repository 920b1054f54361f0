/**
 * Never two servers take writes for the same slot. A new primary has a higher configuration epoch than the one before,
 * and takes its first write after the other's last one. So a write that is sent after a write of a higher epoch was
 * acknowledged, and is acknowledged all the same by another server, was taken by a second writer; and so was one of
 * two servers that write in the same epoch.
 */
import type { Acknowledgement } from "./acknowledgement.ts";

export interface TwoWriters {
  readonly shard: number;
  /** The write that should have been refused. */
  readonly late: Acknowledgement;
  /** The one that shows that somebody else led already. */
  readonly early: Acknowledgement;
  /** How long after `early` was acknowledged `late` was sent. */
  readonly byMs: number;
}

export function twoWriters(acknowledged: readonly Acknowledgement[]): TwoWriters[] {
  return [...Map.groupBy(acknowledged, ({ shard }) => shard).values()].flatMap(ofShard);
}

/** Of each server the first offence: what follows it is the same one going on. */
function ofShard(acknowledged: readonly Acknowledgement[]): TwoWriters[] {
  const found = new Map<string, TwoWriters>();
  const bySending = acknowledged.toSorted((a, b) => a.sentAt - b.sentAt);
  const byAnswer = acknowledged.toSorted((a, b) => a.answeredAt - b.answeredAt);
  let next = 0;
  let leader: Acknowledgement | undefined;
  for (const late of bySending) {
    for (let early = byAnswer[next]; early !== undefined && early.answeredAt < late.sentAt; early = byAnswer[++next]) {
      if (leader === undefined || early.epoch >= leader.epoch) leader = early;
    }
    if (leader === undefined || leader.pod === late.pod || late.epoch > leader.epoch || found.has(late.pod)) continue;
    found.set(late.pod, { shard: late.shard, late, early: leader, byMs: late.sentAt - leader.answeredAt });
  }
  return [...found.values()];
}
