import { expect, test } from "bun:test";
import { failoverLines, rolloutLines } from "./render-rollout.ts";
import { clusterPicture, NOW } from "./test-picture.ts";

const STYLE = { color: false, width: 80 };
const statusWith = (status: object) => {
  const { status: told } = clusterPicture({ shards: 3, replicas: 1, status });
  if (told === undefined) throw new Error("the test's cluster has no status");
  return told;
};

test("a rolling change shows how far it is, what is next and what it is for", () => {
  const rollout = { pods: 6, updated: 3, next: "cache-1-0", changes: "image of valkey", since: "2026-11-16T12:09:30Z" };
  expect(rolloutLines(statusWith({ rollout }), STYLE, NOW)).toEqual([
    "  ############------------  3 of 6 pods, next is cache-1-0, for 30s",
    "    for image of valkey",
  ]);
  expect(rolloutLines(statusWith({}), STYLE, NOW)).toEqual([]);
});

test("a failover is shown while it is under way", () => {
  const failover = { id: "x", shard: 2, phase: "Running", message: "cache-2-0 hands over" };
  expect(failoverLines(statusWith({ failover }), STYLE)).toEqual(["  shard 2: cache-2-0 hands over"]);
  expect(failoverLines(statusWith({ failover: { ...failover, phase: "Done" } }), STYLE)).toEqual([]);
});
