import { expect, test } from "bun:test";
import { GapMeter } from "./gaps.ts";

test("the worst gap is the longest time between two successes, and says when it began", () => {
  const meter = new GapMeter(1000);
  for (const now of [1010, 1020, 1420, 1430]) meter.success(now);
  meter.end(1440);
  expect(meter.worst).toEqual({ atMs: 20, ms: 400 });
  expect(meter.long).toEqual([{ atMs: 20, ms: 400 }]);
});

test("a shard that never comes back has a gap until the end", () => {
  const meter = new GapMeter(0);
  meter.success(10);
  meter.end(5010);
  expect(meter.worst).toEqual({ atMs: 10, ms: 5000 });
});

test("a shard that never took a write has a gap over the whole run", () => {
  const meter = new GapMeter(0);
  meter.end(3000);
  expect(meter.worst).toEqual({ atMs: 0, ms: 3000 });
});
