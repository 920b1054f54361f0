import { expect, test } from "bun:test";
import { planPushes, sightingsOf, sightingsText } from "./push.ts";
import { answering, inputOf, memberView } from "./test-members.ts";
import type { MemberView, Pushed } from "./view.ts";

const missing = memberView(1, { podRuns: false, ip: undefined, recordedId: undefined });

function pushes(applied: string, pushed: Partial<Pushed> | undefined) {
  const member: MemberView = answering(0, { applied: { configurationHash: applied, secretsHash: "s" } });
  const sightings = sightingsText(sightingsOf([member, missing]));
  const before: Pushed = { bootId: "boot", configurationHash: "c", secretsHash: "s", sightings, ageMs: 0, ...pushed };
  return planPushes(inputOf({ ...member, pushed: pushed === undefined ? undefined : before }, missing));
}

test("a booted agent is told where the members of its shard are and who is lost", () => {
  const [step] = pushes("c", undefined);
  expect(step?.sightings).toEqual([
    { node: "c-0-0", ip: "10.0.0.0", lost: false, stopped: false },
    { node: "c-0-1", ip: "", lost: true, stopped: false },
  ]);
  expect([step?.configuration, step?.secrets]).toEqual([false, false]);
});

test("everybody is told where the voters are, and voters who is lost anywhere", () => {
  const members = [0, 1, 2, 3, 4].flatMap((shard) =>
    [0, 1].map((member) => ({ ...answering(member, {}), name: `c-${shard}-${member}`, shard })),
  );
  const gone = { ...missing, name: "c-3-1", shard: 3 };
  const all = members.map((member) => (member.name === gone.name ? gone : member));
  const told = new Map(planPushes(inputOf(...all)).map(({ node, sightings }) => [node, sightings]));
  const names = (node: string) => told.get(node)?.map((sighting) => sighting.node);
  const voters = ["c-0-0", "c-0-1", "c-1-0", "c-1-1", "c-2-0", "c-2-1", "c-3-0", "c-3-1", "c-4-0"];
  expect(names("c-4-1")).toEqual([...voters, "c-4-1"]);
  expect(names("c-0-0")).toEqual(voters);
  expect(told.get("c-0-0")?.filter(({ lost }) => lost)).toEqual([
    { node: "c-3-1", ip: "", lost: true, stopped: false },
  ]);
});

test("what was told and applied is not told again; another boot hears it anew", () => {
  expect(pushes("c", {})).toEqual([]);
  expect(pushes("c", { bootId: "earlier" })).toHaveLength(1);
});

test("what was not applied is pushed, and again only after a while", () => {
  expect(pushes("old", { configurationHash: "old" })[0]?.configuration).toBe(true);
  expect(pushes("old", {})).toEqual([]);
  expect(pushes("old", { ageMs: 60_000 })[0]?.configuration).toBe(true);
});
