import { expect, test } from "bun:test";
import type { Acknowledgement } from "./acknowledgement.ts";
import { twoWriters } from "./two-writers.ts";

function ack(pod: string, epoch: number, sentAt: number, answeredAt = sentAt + 1): Acknowledgement {
  return { pod, shard: 0, key: `${pod}:${sentAt}`, epoch, sentAt, answeredAt, waited: false };
}

test("writers that follow each other with rising epochs are one at a time, even if the first comes back", () => {
  expect(twoWriters([ack("a", 1, 0), ack("a", 1, 10), ack("b", 2, 20), ack("a", 3, 30)])).toEqual([]);
});

test("an epoch that rises under the same server is no other writer", () => {
  expect(twoWriters([ack("a", 1, 0), ack("a", 4, 10), ack("a", 4, 20)])).toEqual([]);
});

test("a write of a lower epoch after one of a higher is a second writer, named once", () => {
  const found = twoWriters([ack("a", 1, 0), ack("b", 2, 20), ack("a", 1, 30), ack("a", 1, 40), ack("b", 2, 50)]);
  expect(found).toMatchObject([{ shard: 0, late: { pod: "a", sentAt: 30 }, early: { pod: "b" }, byMs: 9 }]);
});

test("two servers that write in one epoch are two writers", () => {
  expect(twoWriters([ack("a", 1, 0), ack("b", 1, 20)])).toHaveLength(1);
});

test("a write that was on its way when the other was acknowledged proves nothing", () => {
  expect(twoWriters([ack("a", 1, 0, 100), ack("b", 2, 20)])).toEqual([]);
});

test("shards are judged apart, and the order of the reports does not matter", () => {
  const other = { ...ack("c", 9, 5), shard: 1 };
  expect(twoWriters([ack("b", 2, 20), other, ack("a", 1, 0)])).toEqual([]);
});
