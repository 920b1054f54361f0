/** What must never happen, looked for in what a run has seen; each finding is a sentence for people. */
import type { Loss } from "../lib/losses.ts";
import type { Acknowledgement } from "../lib/witness/acknowledgement.ts";
import { twoWriters } from "../lib/witness/two-writers.ts";
import type { Report } from "../lib/write-client/report.ts";
import type { TakenCopy } from "./copy-watch.ts";

export interface Seen {
  /** Times in the findings count from here. */
  readonly began: number;
  readonly acknowledged: readonly Acknowledgement[];
  /** Of the writes that had waited for all replicas, those that were gone. */
  readonly gone: readonly Acknowledgement[];
  readonly taken: readonly TakenCopy[];
  readonly losses: readonly Loss[];
  readonly report: Pick<Report, "unread" | "unacknowledged">;
}

export function judge({ began, acknowledged, gone, taken, losses, report }: Seen): string[] {
  const at = (time: number) => `at ${clock(time - began)}`;
  const writers = twoWriters(acknowledged).map(
    ({ shard, late, early, byMs }) =>
      `two writers of shard ${shard} ${at(late.sentAt)}: ${late.pod} (epoch ${late.epoch}) took a write ` +
      `${byMs} ms after ${early.pod} (epoch ${early.epoch}) had`,
  );
  const copies = taken.map((one) => `${one.pod} was taken ${at(one.at)}, the last copy of shard ${one.shard}`);
  const lost = losses
    .filter(({ excuse }) => excuse === undefined)
    .map((one) => `lost ${one.key} of shard ${one.shard}, acknowledged ${at(one.at)}`);
  const waited = gone.map((one) => `lost ${one.key}, which all replicas had ${at(one.answeredAt)}`);
  const { unread, unacknowledged } = report;
  const open = unread + unacknowledged === 0 ? [] : [`${unacknowledged} writes never taken, ${unread} never read back`];
  return [...writers, ...copies, ...lost, ...waited, ...open];
}

export function clock(ms: number): string {
  const seconds = ms / 1000;
  return `${Math.floor(seconds / 60)}:${(seconds % 60).toFixed(1).padStart(4, "0")}`;
}
