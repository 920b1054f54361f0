/**
 * What may be lost, and when: replication is asynchronous, so a fault may take with it what was acknowledged around its
 * moment. Everything else that was acknowledged must be there.
 */
import { slotsOfShard } from "../../pkg/plan/objects/slots.ts";
import { harm } from "./harm.ts";
import type { Report } from "./write-client/report.ts";
import { slotOf } from "./write-client/slots.ts";

/** Of every cluster that this is asked about. */
export const SHARDS = 3;

/** Two seconds: how long a primary that is cut off may go on. */
export const LEASE_MS = 2000;
/**
 * How far behind a replica that is in sync may be when its primary dies. Usually it is less than a millisecond; on a
 * machine whose cores are shared a replica may not have been given one for a while.
 */
export const LAG_MS = 500;

/** Acknowledgements in this time may be lost. */
export interface LossWindow {
  /** The shards whose primary it happened to. */
  readonly shards: readonly number[];
  readonly from: number;
  readonly to: number;
  readonly why: string;
}

export interface Moment {
  /** Just before and just after it was done, of the wall clock. */
  readonly begun: number;
  readonly done: number;
}

/** The primaries of these shards, or their machine, ended in this moment. */
export function died(shards: readonly number[], { begun, done }: Moment, why: string): LossWindow {
  return { shards, from: begun - LAG_MS, to: done, why };
}

/** The primaries of these shards were cut off in this moment and may go on until their lease ends. */
export function cutOff(shards: readonly number[], { begun, done }: Moment, why: string): LossWindow {
  return { shards, from: begun - LAG_MS, to: done + LEASE_MS, why };
}

/** Does something and tells when it was. */
export async function moment<T>(work: () => Promise<T>): Promise<Moment & { readonly value: T }> {
  const begun = Date.now();
  const value = await work();
  return { begun, done: Date.now(), value };
}

export interface Loss {
  readonly key: string;
  readonly shard: number;
  /** When it was acknowledged. */
  readonly at: number;
  /** Why it may be lost; undefined when nothing excuses it. */
  readonly excuse: string | undefined;
}

export function lossesOf(
  { lost, lostAtMs, startedAt }: Pick<Report, "lost" | "lostAtMs" | "startedAt">,
  windows: readonly LossWindow[],
): Loss[] {
  return lost.map((key, index) => {
    const at = startedAt + (lostAtMs[index] ?? Number.NaN);
    const shard = shardOf(key);
    const excuse = windows.find(({ shards, from, to }) => shards.includes(shard) && at >= from && at <= to)?.why;
    return { key, shard, at, excuse };
  });
}

export function shardOf(key: string): number {
  const slot = slotOf(key);
  return [...Array(SHARDS).keys()].find((shard) => slot <= slotsOfShard(shard, SHARDS).last) ?? 0;
}

export function unexcused(report: Parameters<typeof lossesOf>[0], windows: readonly LossWindow[]): readonly Loss[] {
  const losses = lossesOf(report, windows).filter(({ excuse }) => excuse === undefined);
  return harm("acknowledged writes lost", losses);
}
