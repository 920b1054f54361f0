import { expect, test } from "bun:test";
import { Registry } from "./metrics.ts";

test("counters, gauges and histograms are written as Prometheus reads them", () => {
  const registry = new Registry();
  registry
    .counter({ name: "b_total", help: "Things.", labels: ["kind", "why"] })
    .inc({ kind: "Pod", why: 'a "b"\n\\' });
  registry.gauge({ name: "a", help: "One\nline." }).set({}, 2.5);
  const seconds = registry.histogram({ name: "c_seconds", help: "Time.", labels: ["q"], buckets: [0.1, 1] });
  for (const value of [0.1, 0.5, 3]) seconds.observe({ q: "x" }, value);
  expect(registry.text()).toBe(
    [
      "# HELP a One\\nline.",
      "# TYPE a gauge",
      "a 2.5",
      "# HELP b_total Things.",
      "# TYPE b_total counter",
      'b_total{kind="Pod",why="a \\"b\\"\\n\\\\"} 1',
      "# HELP c_seconds Time.",
      "# TYPE c_seconds histogram",
      'c_seconds_bucket{q="x",le="0.1"} 1',
      'c_seconds_bucket{q="x",le="1"} 2',
      'c_seconds_bucket{q="x",le="+Inf"} 3',
      'c_seconds_sum{q="x"} 3.6',
      'c_seconds_count{q="x"} 3',
      "",
    ].join("\n"),
  );
});

test("a gauge can be read at the scrape, and forgotten", () => {
  const registry = new Registry();
  const gauge = registry.gauge({ name: "depth", help: "Depth.", labels: ["queue"] });
  let depth = 3;
  const stop = gauge.onScrape(() => gauge.set({ queue: "a" }, depth));
  expect(registry.text()).toContain('depth{queue="a"} 3');
  depth = 4;
  expect(registry.text()).toContain('depth{queue="a"} 4');
  stop();
  gauge.remove({ queue: "a" });
  expect(registry.text()).not.toContain("queue=");
});

test("wrong names, a metric made twice and a shrinking counter are refused", () => {
  const registry = new Registry();
  const counter = registry.counter({ name: "x_total", help: "" });
  expect(() => registry.counter({ name: "x_total", help: "" })).toThrow("made twice");
  expect(() => registry.gauge({ name: "has space", help: "" })).toThrow("cannot be the name");
  expect(() => registry.histogram({ name: "h", help: "", labels: ["le"] })).toThrow("cannot be a label");
  expect(() => counter.inc({}, -1)).toThrow("grows");
});

test("a runaway label costs a count, not the memory", () => {
  const registry = new Registry({ maxSeries: 2 });
  const counter = registry.counter({ name: "x_total", help: "", labels: ["id"] });
  for (let id = 0; id < 10; id += 1) counter.inc({ id: String(id) });
  expect(registry.text().match(/x_total\{/gu)).toHaveLength(2);
  expect(registry.text()).toContain("metrics_series_dropped_total 8");
});
