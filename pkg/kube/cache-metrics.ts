/** The metrics of all caches of a program, by kind. */
import type { Registry } from "../metrics/metrics.ts";
import type { CacheObserver } from "./cache-options.ts";
import type { ResourceName } from "./resource.ts";

/** Gives each cache its observer. Called once per registry. */
export function cacheMetrics(registry: Registry): (resource: ResourceName) => Required<Metered> {
  const kind = ["kind"] as const;
  const objects = registry.gauge({ name: "cache_objects", help: "Objects at the last complete list.", labels: kind });
  const frames = registry.counter({ name: "cache_frames_total", help: "Watch frames.", labels: ["kind", "type"] });
  const lists = registry.counter({ name: "cache_lists_total", help: "Complete lists.", labels: ["kind", "reason"] });
  const failures = registry.counter({
    name: "cache_failures_total",
    help: "Lists and watches that ended badly.",
    labels: ["kind", "code"],
  });
  const missed = registry.counter({
    name: "cache_missed_total",
    help: "Changes that a watch never showed, found and repaired by comparing with a fresh list.",
    labels: kind,
  });
  const compared = registry.counter({
    name: "cache_comparisons_total",
    help: "Comparisons with a fresh list.",
    labels: kind,
  });
  const unreadable = registry.counter({
    name: "cache_unreadable_total",
    help: "Objects that could not be read and are kept in their last readable state.",
    labels: kind,
  });
  return ({ kind }) => {
    // From the beginning: an alert cannot tell a sample that is absent from one that is 0.
    for (const counter of [missed, compared, unreadable]) counter.inc({ kind }, 0);
    return {
      listed: (reason, count) => {
        lists.inc({ kind, reason });
        objects.set({ kind }, count);
      },
      frame: (type) => frames.inc({ kind, type }),
      failed: (code) => failures.inc({ kind, code }),
      compared: (count) => {
        compared.inc({ kind });
        missed.inc({ kind }, count);
      },
      unreadable: () => unreadable.inc({ kind }),
    };
  };
}

/** A subscriber's own failure is for the log alone. */
type Metered = Omit<CacheObserver, "subscriberFailed">;
