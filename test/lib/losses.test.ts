import { expect, test } from "bun:test";
import { cutOff, died, lossesOf, shardOf, unexcused } from "./losses.ts";

/** Slots 3300, 7365, 11298: one of each shard. */
const KEYS = ["b", "c", "d"];
const report = { startedAt: 10_000, lost: KEYS, lostAtMs: [400, 1900, 2600] };
const at = { begun: 12_000, done: 12_010 };

test("keys are of the shard that owns their slot", () => {
  expect(KEYS.map(shardOf)).toEqual([0, 1, 2]);
});

test("without a fault nothing excuses a loss", () => {
  expect(unexcused(report, []).map(({ key }) => key)).toEqual(KEYS);
});

test("a crash excuses its last moment, not what came before or after", () => {
  expect(unexcused(report, [died([0, 1, 2], at, "crash")]).map(({ key }) => key)).toEqual(["b", "d"]);
});

test("a cut excuses what was acknowledged until the lease ended", () => {
  const losses = lossesOf(report, [cutOff([0, 1, 2], at, "cut")]);
  expect(losses.map(({ excuse }) => excuse)).toEqual([undefined, "cut", "cut"]);
});

test("a fault excuses nothing of shards that it did not happen to", () => {
  expect(unexcused(report, [cutOff([0, 2], at, "cut")]).map(({ key }) => key)).toEqual(["b", "c"]);
});
