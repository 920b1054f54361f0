import { expect, test } from "bun:test";
import type { ValkeyClusterStatus } from "../../api/cluster-status.ts";
import { Blinks } from "./blinks.ts";

const KEY = "shop/cache";
const AT = "2026-01-01T00:00:00Z";

function status(ready: "True" | "False", more: Partial<ValkeyClusterStatus> = {}): ValkeyClusterStatus {
  const condition = { type: "Ready", status: ready, lastTransitionTime: AT, reason: "Told", message: "as told" };
  return { conditions: [condition], ...more };
}

const ROLLING: Partial<ValkeyClusterStatus> = { rollout: { pods: 6, updated: 2 } };
const WELL = status("True");
const FELT = status("False", ROLLING);

test("a shard between two primaries of a rolling change is told after a second, not before", () => {
  const blinks = new Blinks();
  const wait = (at: number) => blinks.waitMs(KEY, WELL, FELT, at);
  expect([wait(5000), wait(5400), wait(6000), wait(9000)]).toEqual([1000, 600, 0, 0]);
});

test("the next handover has a second of its own", () => {
  const blinks = new Blinks();
  expect(blinks.waitMs(KEY, WELL, FELT, 5000)).toBe(1000);
  expect(blinks.waitMs(KEY, WELL, status("True", ROLLING), 5100)).toBe(0);
  expect(blinks.waitMs(KEY, WELL, FELT, 8000)).toBe(1000);
});

test("a failover by hand is planned as well", () => {
  const failover: ValkeyClusterStatus["failover"] = { id: "1", shard: 0, phase: "Running", message: "" };
  expect(new Blinks().waitMs(KEY, WELL, status("False", { failover }), 0)).toBe(1000);
});

test("what nobody planned, and what was not ready before, is told at once", () => {
  expect(new Blinks().waitMs(KEY, WELL, status("False"), 0)).toBe(0);
  expect(new Blinks().waitMs(KEY, status("False"), FELT, 0)).toBe(0);
  expect(new Blinks().waitMs(KEY, undefined, FELT, 0)).toBe(0);
});
