import { expect, test } from "bun:test";
import { clock, judge } from "./judge.ts";

const CLEAN = { began: 0, acknowledged: [], gone: [], taken: [], losses: [], report: { unread: 0, unacknowledged: 0 } };
const write = { pod: "a", shard: 1, key: "k", epoch: 1, sentAt: 61_000, answeredAt: 61_001, waited: true };

test("a run in which nothing happened that must not is clean", () => {
  const excused = { key: "k", shard: 0, at: 5, excuse: "crash" };
  expect(judge({ ...CLEAN, acknowledged: [write], losses: [excused] })).toEqual([]);
});

test("each thing that must not happen is said", () => {
  const other = { ...write, pod: "b", epoch: 2, sentAt: 60_000, answeredAt: 60_001 };
  expect(judge({ ...CLEAN, acknowledged: [write, other] })).toEqual([
    "two writers of shard 1 at 1:01.0: a (epoch 1) took a write 999 ms after b (epoch 2) had",
  ]);
  expect(judge({ ...CLEAN, gone: [write] })).toEqual(["lost k, which all replicas had at 1:01.0"]);
  expect(judge({ ...CLEAN, taken: [{ at: 500, pod: "a", shard: 2 }] })).toHaveLength(1);
  expect(judge({ ...CLEAN, losses: [{ key: "k", shard: 0, at: 5, excuse: undefined }] })).toHaveLength(1);
  expect(judge({ ...CLEAN, report: { unread: 1, unacknowledged: 0 } })).toHaveLength(1);
});

test("times are minutes and seconds", () => {
  expect([0, 9_960, 60_000, 754_320].map(clock)).toEqual(["0:00.0", "0:10.0", "1:00.0", "12:34.3"]);
});
