/** What a run of the write client found. */
import type { FrontEndName } from "./front-end.ts";
import type { Gap } from "./gaps.ts";

export interface ShardReport {
  readonly name: string;
  readonly slots: string;
  readonly acknowledged: number;
  /** The longest time without a successful write, and when it began (milliseconds since the start). */
  readonly worstGapMs: number;
  readonly worstGapAtMs: number;
  /** Every gap above 50 ms. */
  readonly longGaps: readonly Gap[];
}

export interface Report {
  readonly frontEnd: FrontEndName;
  /** By the wall clock: what the other times of this report count from. */
  readonly startedAt: number;
  readonly seconds: number;
  /** Writes that fell due, of which so many were acknowledged; the rest was given up when the run ended. */
  readonly due: number;
  readonly acknowledged: number;
  readonly unacknowledged: number;
  /** Failed attempts by kind; each was followed by another attempt. */
  readonly errors: Readonly<Record<string, number>>;
  /** Attempts that another node was to answer: they cost a round trip but are no failure. */
  readonly redirects: Readonly<Record<string, number>>;
  /** What happened on the way without failing an attempt: error events of a client library, ASK redirections. */
  readonly events: Readonly<Record<string, number>>;
  readonly worstGapMs: number;
  readonly shards: readonly ShardReport[];
  /** From the moment a write fell due until its acknowledgement, retries and waiting included. */
  readonly latencyMs: Percentiles;
  /** Keys whose write was acknowledged and that are not there any more, or that hold another value. */
  readonly lost: readonly string[];
  /** When the lost ones were acknowledged, milliseconds since the start, in the same order. */
  readonly lostAtMs: readonly number[];
  /** Acknowledged keys that could not be read back in time: nothing is known about them. */
  readonly unread: number;
}

export interface Percentiles {
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
}

export function percentiles(values: readonly number[]): Percentiles {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) => {
    const value = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
    return Math.round(value * 100) / 100;
  };
  return { p50: at(0.5), p90: at(0.9), p99: at(0.99), p999: at(0.999), max: at(1) };
}
