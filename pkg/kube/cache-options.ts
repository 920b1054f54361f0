/** What can be set about a cache, and what it tells of itself. */
import type { Clock } from "../clock/clock.ts";
import type { IndexBy } from "./cache-index.ts";
import type { Selection } from "./client-options.ts";
import type { KubeErrorCode } from "./kube-error.ts";
import type { KubeObject, Resource } from "./resource.ts";

export interface CacheOptions<T extends KubeObject, I extends string> {
  /** Its parser is the projection: what it leaves out is not kept. */
  readonly resource: Resource<T>;
  /** Defaults to all objects in all namespaces. */
  readonly selection?: Selection;
  /** Defaults to none. */
  readonly indexes?: Readonly<Record<I, IndexBy<T>>>;
  /** Defaults to the system's. */
  readonly clock?: Clock;
  /** Numbers from 0 to 1. Defaults to Math.random. */
  readonly random?: () => number;
  /** Defaults to telling nobody. */
  readonly observer?: CacheObserver;
  readonly timing?: Partial<CacheTiming>;
  /** Objects per page of a list. Defaults to 500. */
  readonly pageSize?: number;
}

export interface CacheTiming {
  /** Between two comparisons with a fresh list, give or take a fifth. Defaults to 10 minutes. */
  readonly compareMs: number;
  /** How long the watch may lag behind a fresh list before that counts as missed. Defaults to 10 s. */
  readonly graceMs: number;
  /** A watch ends in good order after this long to twice this long. Defaults to 5 minutes. */
  readonly watchMs: number;
  /** A watch without any frame for this long is broken; bookmarks come every minute. Defaults to 90 s. */
  readonly idleMs: number;
  /** The first wait after a failure; it doubles with each. Defaults to 200 ms. */
  readonly backoffMs: number;
  /** Defaults to 30 s. */
  readonly maxBackoffMs: number;
  /** For each page of a list, and for a watch to begin. Defaults to 30 s. */
  readonly deadlineMs: number;
}

export const DEFAULT_TIMING: CacheTiming = {
  compareMs: 10 * 60_000,
  graceMs: 10_000,
  watchMs: 5 * 60_000,
  idleMs: 90_000,
  backoffMs: 200,
  maxBackoffMs: 30_000,
  deadlineMs: 30_000,
};

/** Why a complete list was read. */
export type ListReason = "start" | "expired" | "failures" | "disorder" | "missed";

/** For metrics and logs. */
export interface CacheObserver {
  readonly listed?: (reason: ListReason, objects: number) => void;
  readonly frame?: (type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK") => void;
  /** A list or watch ended badly; the cache waits and goes on. */
  readonly failed?: (code: KubeErrorCode, error: Error) => void;
  /** A comparison with a fresh list is done; so many changes had never been shown by the watch. */
  readonly compared?: (missed: number) => void;
  readonly unreadable?: (key: string, error: unknown) => void;
  /** A subscriber threw; the others and the cache go on. */
  readonly subscriberFailed?: (error: unknown) => void;
}
