import { expect, test } from "bun:test";
import { chooseFailover, type FailoverWish } from "./failover-choice.ts";
import { failoverText } from "./failover-text.ts";
import { clusterPicture } from "./test-picture.ts";

const healthy = clusterPicture({ shards: 3, replicas: 2 });
const chosen = (wish: FailoverWish, picture = healthy) => {
  const { shard, from, to, heirs } = chooseFailover(picture, wish);
  return `${shard.index}: ${from.name} to ${to?.name ?? `one of ${heirs.length}`}`;
};
const refused = (wish: FailoverWish, picture = healthy) => {
  try {
    return `was not refused: ${chosen(wish, picture)}`;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
};

test("a shard is named by its number, by its primary, or by who is to lead", () => {
  expect(chosen({ target: "1" })).toBe("1: cache-1-0 to one of 2");
  expect(chosen({ target: "cache-1-0" })).toBe("1: cache-1-0 to one of 2");
  expect(chosen({ target: "cache-1-0-0", to: "cache-1-2-0" })).toBe("1: cache-1-0 to cache-1-2");
  expect(chosen({ to: "cache-2-1" })).toBe("2: cache-2-0 to cache-2-1");
});

test("what cannot be is said with what can", () => {
  expect(refused({})).toBe("which shard? Name one, or a pod of it: 0 (cache-0-0), 1 (cache-1-0), 2 (cache-2-0)");
  expect(refused({ target: "7" })).toBe("there is no shard 7: there are 0, 1, 2");
  expect(refused({ target: "cache-1-9-0" })).toContain("Did you mean");
  expect(refused({ target: "nonsense" })).toContain("There are: cache-0-0");
  expect(refused({ target: "cache-1-2" })).toContain("To make cache-1-2 lead: --to cache-1-2");
  expect(refused({ target: "1", to: "cache-2-1" })).toContain("cache-2-1 is of shard 2, not of shard 1");
  expect(refused({ target: "1", to: "cache-1-0" })).toBe("cache-1-0 leads shard 1 already");
});

test("without a replica in sync nothing is asked for", () => {
  const stuck = clusterPicture({ shards: 3, replicas: 1, stuck: { "cache-1-1": "CrashLoopBackOff" } });
  expect(refused({ target: "1" }, stuck)).toContain("cache-1-1 is CrashLoopBackOff");
  expect(refused({ target: "1" }, clusterPicture({ shards: 3, replicas: 0 }))).toContain("it has no replicas");
});

test("one that is under way is waited for by whoever asked for it", () => {
  const failover = { id: "x", shard: 2, phase: "Running", message: "cache-2-0 hands over" };
  expect(refused({ target: "1" }, clusterPicture({ shards: 3, replicas: 1, status: { failover } }))).toContain(
    "under way",
  );
});

test("what will happen and what it costs is said before", () => {
  const text = failoverText(chooseFailover(healthy, { target: "0" })).join("\n");
  expect(text).toContain(
    "Shard 0 (slots 0-5461): cache-0-0 hands over to the one of cache-0-1, cache-0-2 with the newest copy.",
  );
  expect(text).toContain("5462 slots wait");
});
