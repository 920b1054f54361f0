import { expect, test } from "bun:test";
import { renderTopology } from "./render-topology.ts";
import { clusterPicture } from "./test-picture.ts";
import { topologyLines } from "./topology.ts";

const PLAIN = { color: false, width: 80 };

test("every shard is drawn with its slots, its primary first, and where its nodes run", () => {
  expect(renderTopology(clusterPicture({ shards: 3, replicas: 1 }), PLAIN, { all: false })).toBe(
    `team/cache  Running  3 shards, 6 of 6 nodes ready, 16384 of 16384 slots

shard 0  slots 0-5461 (5462)
  primary  cache-0-0  ready    node-0  zone-0
  replica  cache-0-1  in sync  node-1  zone-1  lag 0 B

shard 1  slots 5462-10922 (5461)
  primary  cache-1-0  ready    node-1  zone-1
  replica  cache-1-1  in sync  node-2  zone-2  lag 0 B

shard 2  slots 10923-16383 (5461)
  primary  cache-2-0  ready    node-2  zone-2
  replica  cache-2-1  in sync  node-0  zone-0  lag 0 B`,
  );
});

test("a shard without a primary and a pod that is stuck are seen at once", () => {
  const shards = [{ index: 0 }, { index: 1, primary: "cache-1-0", slots: "0-1,4,6,8-9,11", replicas: [] }];
  const stuck = { "cache-0-0": "ImagePullBackOff" };
  const picture = clusterPicture({
    shards: 2,
    replicas: 0,
    stuck,
    status: { shards, slotsAssigned: 7, phase: "Pending" },
  });
  expect(renderTopology(picture, PLAIN, { all: false })).toBe(
    `team/cache  Pending  2 shards, 1 of 2 nodes ready, 7 of 16384 slots

shard 0  no slots  no primary
  -        cache-0-0  ImagePullBackOff  node-0  zone-0  4 restarts

shard 1  slots 0-1,4,6,8-9 and 1 more (7)
  primary  cache-1-0  ready             node-1  zone-1`,
  );
});

test("of many shards the sum is shown, and those that need a look", () => {
  const picture = clusterPicture({ shards: 300, replicas: 2, stuck: { "cache-7-1": "CrashLoopBackOff" } });
  expect(renderTopology(picture, PLAIN, { all: false })).toBe(
    `team/cache  Running  300 shards, 899 of 900 nodes ready, 16384 of 16384 slots

  299 of 300 shards are healthy, largest lag 1.5 kB
  zone-0  100 primaries  200 replicas  on 1 machine  all ready
  zone-1  100 primaries  200 replicas  on 1 machine  all ready
  zone-2  100 primaries  200 replicas  on 1 machine  1 not ready

shard 7  slots 383-436 (54)  not healthy
  primary  cache-7-0  ready             node-1  zone-1
  replica  cache-7-1  CrashLoopBackOff  node-2  zone-2  lag 0 B, 4 restarts
  replica  cache-7-2  in sync           node-0  zone-0  lag 1.5 kB`,
  );
  const lines = renderTopology(picture, PLAIN, { all: true }).split("\n");
  expect(lines).toHaveLength(1 + 300 * 5);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
});

test("colours mark what is good and what is not", () => {
  const text = renderTopology(clusterPicture({ shards: 1, replicas: 0 }), { color: true, width: 80 }, { all: false });
  expect(text).toContain("\u001B[32mready\u001B[39m");
});

test("where no terminal can be drawn on, each shard is a line", () => {
  expect(topologyLines(clusterPicture({ shards: 1, replicas: 1 }))).toEqual([
    "Running: 1 shards, 2 of 2 pods ready, 16384 slots served",
    "shard 0: 0-16383: cache-0-0 primary ready, cache-0-1 replica in sync",
  ]);
});
