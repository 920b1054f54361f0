import { expect, test } from "bun:test";
import type { Member } from "../e2e/heal-members.ts";
import { CopyWatch } from "./copy-watch.ts";

function member(pod: string, change: Partial<Member> = {}): Member {
  const place = { node: "node0", ip: "10.0.0.1", shard: 0, member: 0 };
  return { pod, uid: pod, ...place, ready: true, leaving: false, role: "primary", following: false, ...change };
}

const replica = member("b", { role: "replica", following: true });

function taken(...looks: readonly (readonly Member[])[]): string[] {
  const watch = new CopyWatch();
  for (const members of looks) watch.look(members);
  return watch.taken.map(({ pod }) => pod);
}

test("a pod may go while another has its copy", () => {
  expect(taken([member("a"), replica], [member("a", { leaving: true }), replica])).toEqual([]);
  expect(taken([member("a"), replica], [replica])).toEqual([]);
});

test("the only copy may not, whether it is leaving or gone", () => {
  const lagging = { ...replica, following: false };
  expect(taken([member("a"), lagging], [member("a", { leaving: true }), lagging])).toEqual(["a"]);
  expect(taken([member("a"), lagging], [lagging])).toEqual(["a"]);
});

test("what the test took itself is nobody's fault", () => {
  const watch = new CopyWatch();
  watch.ours("a");
  watch.look([member("a")]);
  watch.look([]);
  expect(watch.taken).toEqual([]);
});

test("a pod without a copy, and one of another shard, count for nothing", () => {
  const empty = member("e", { role: "none" });
  expect(taken([empty], [])).toEqual([]);
  expect(taken([member("a"), { ...replica, shard: 1 }], [{ ...replica, shard: 1 }])).toEqual(["a"]);
});
