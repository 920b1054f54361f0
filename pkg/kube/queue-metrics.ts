/** What a work queue tells about itself. One set serves all queues; each is a label. */
import type { Counter, Gauge, Histogram, Registry } from "../metrics/metrics.ts";

type ByQueue = "queue";

export interface QueueMetrics {
  readonly adds: Counter<ByQueue>;
  readonly retries: Counter<ByQueue>;
  readonly stuck: Counter<ByQueue>;
  readonly latency: Histogram<ByQueue>;
  readonly duration: Histogram<ByQueue>;
  readonly depth: Gauge<ByQueue>;
  readonly delayed: Gauge<ByQueue>;
  readonly running: Gauge<ByQueue>;
  readonly longestRunning: Gauge<ByQueue>;
}

export function queueMetrics(registry: Registry): QueueMetrics {
  const labels = ["queue"] as const;
  return {
    adds: registry.counter({ name: "workqueue_adds_total", help: "Keys added, before deduplication.", labels }),
    retries: registry.counter({ name: "workqueue_retries_total", help: "Runs that failed and are retried.", labels }),
    stuck: registry.counter({ name: "workqueue_stuck_total", help: "Runs that outlasted their deadline.", labels }),
    latency: registry.histogram({
      name: "workqueue_queue_duration_seconds",
      help: "From the moment a key could run to its run.",
      labels,
    }),
    duration: registry.histogram({ name: "workqueue_work_duration_seconds", help: "How long a run took.", labels }),
    depth: registry.gauge({ name: "workqueue_depth", help: "Keys that could run now and wait for a worker.", labels }),
    delayed: registry.gauge({ name: "workqueue_delayed", help: "Keys that wait for their time.", labels }),
    running: registry.gauge({ name: "workqueue_running", help: "Keys that run now.", labels }),
    longestRunning: registry.gauge({
      name: "workqueue_longest_running_processor_seconds",
      help: "Age of the oldest run.",
      labels,
    }),
  };
}
