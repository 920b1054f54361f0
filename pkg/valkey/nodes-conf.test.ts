import { expect, test } from "bun:test";
import { asReplicaOf, parseNodesConf, readNodesConf, withShardsOfPrimaries } from "./nodes-conf.ts";

const A = "a".repeat(40);
const B = "b".repeat(40);

test("the own line, the others and the epochs", () => {
  const conf = parseNodesConf(
    [
      `${B} 10.0.0.2:6379@16379,,tls-port=0,shard-id=${B} master - 0 1 9 connected 0-100`,
      `${A} 10.0.0.1:6379@16379,host,tls-port=6379,shard-id=${B} myself,slave ${B} 0 0 9 connected`,
      "vars currentEpoch 12 lastVoteEpoch 11",
      "",
    ].join("\n"),
  );
  expect(conf.myself).toMatchObject({ id: A, role: "replica", primaryId: B, hostname: "host", configEpoch: 9n });
  expect(conf.myself.aux.get("shard-id")).toBe(B);
  expect(conf.others.map(({ id }) => id)).toEqual([B]);
  expect(conf).toMatchObject({ currentEpoch: 12n, lastVoteEpoch: 11n });
});

test("a damaged file is told, a missing one is none", async () => {
  expect(() => parseNodesConf(`${A} 10.0.0.1:6379@16379 mas`)).toThrow("no configuration epoch");
  expect(() => parseNodesConf("vars currentEpoch 1 lastVoteEpoch 0\n")).toThrow("0 lines");
  expect(await readNodesConf("/nonexistent/nodes.conf")).toBeUndefined();
});

test("a node that was a primary becomes a replica of another, in that one's shard and without slots", () => {
  const before = [
    `${A} 10.0.0.1:6379@16379,,tls-port=0,shard-id=one myself,master - 0 0 4 connected 0-5460 7000`,
    `${B} 10.0.0.2:6379@16379,,tls-port=0,shard-id=two master - 0 17 6 connected 5461-10921`,
    "vars currentEpoch 6 lastVoteEpoch 2",
    "",
  ].join("\n");
  const after = parseNodesConf(asReplicaOf(before, B));
  expect(after.myself).toMatchObject({ id: A, role: "replica", primaryId: B, slots: [] });
  expect(after.others.map(({ id, role, slots }) => ({ id, role, slots }))).toEqual([
    {
      id: B,
      role: "primary",
      slots: [
        { first: 5461, last: 10_921 },
        { first: 0, last: 5460 },
        { first: 7000, last: 7000 },
      ],
    },
  ]);
  expect(after.currentEpoch).toBe(6n);
  expect(asReplicaOf(before, B).split("\n")[0]).toBe(
    `${A} 10.0.0.1:6379@16379,,tls-port=0,shard-id=two myself,slave ${B} 0 0 4 connected`,
  );
});

test("a primary that follows its own replica leaves its slots to that one, with the higher epoch of the two", () => {
  const before = [
    `${A} 10.0.0.1:6379@16379,,tls-port=0,shard-id=one myself,master,nofailover - 0 0 4 connected 0-5460`,
    `${B} 10.0.0.2:6379@16379,,tls-port=0,shard-id=one slave,nofailover ${A} 0 17 3 connected`,
    "vars currentEpoch 6 lastVoteEpoch 2",
    "",
  ].join("\n");
  expect(asReplicaOf(before, B).split("\n").slice(0, 2)).toEqual([
    `${A} 10.0.0.1:6379@16379,,tls-port=0,shard-id=one myself,slave ${B} 0 0 4 connected`,
    `${B} 10.0.0.2:6379@16379,,tls-port=0,shard-id=one master,nofailover - 0 17 4 connected 0-5460`,
  ]);
});

test("a replica is of its primary's shard, whatever the file says, and nothing else of it changes", () => {
  const C = "c".repeat(40);
  const table = (shards: readonly string[]) =>
    [
      `${A} 10.0.0.1:6379@16379,,tls-port=0,nodename=a,shard-id=${shards[0]} slave,nofailover ${B} 0 0 4 connected`,
      `${B} 10.0.0.2:6379@16379,,tls-port=0,nodename=b,shard-id=${shards[1]} master - 0 17 3 connected 0-5460`,
      `${C} 10.0.0.3:6379@16379,,tls-port=0,nodename=c,shard-id=${shards[2]} myself,slave ${A} 0 0 1 connected`,
      "vars currentEpoch 6 lastVoteEpoch 2",
      "",
    ].join("\n");
  expect(withShardsOfPrimaries(table(["one", "two", "three"]))).toBe(table(["two", "two", "two"]));
  const right = table(["two", "two", "two"]);
  expect(withShardsOfPrimaries(right)).toBe(right);
});

test("of one whose primary the file does not have nothing is known, and a circle has an end", () => {
  const line = (id: string, primary: string, shard: string) =>
    `${id} 10.0.0.1:6379@16379,,tls-port=0,shard-id=${shard} slave ${primary} 0 0 4 connected`;
  const orphan = line(A, B, "one");
  expect(withShardsOfPrimaries(orphan)).toBe(orphan);
  expect(withShardsOfPrimaries([line(A, B, "one"), line(B, A, "one")].join("\n"))).toContain("shard-id=one");
});
