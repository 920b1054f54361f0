/** Whatever the cluster looks like, a rolling change takes no last copy and not too much at once; and it comes to an end. */
import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { chooseVoters } from "../lease/voters.ts";
import { planRollout } from "./rollout.ts";
import { member, rolloutOf, UPDATED } from "./test-view.ts";
import { isPrimary, type RolloutMember, type RolloutView } from "./view.ts";
import { unwell } from "./wellness.ts";

const rarely = (yes: number) => fc.integer({ min: 0, max: 99 }).map((dice) => dice < yes);

const weather = fc.record({
  outdated: fc.boolean(),
  leads: rarely(20),
  ready: rarely(90),
  going: rarely(5),
  letGo: rarely(5),
  silent: rarely(5),
  inSync: rarely(90),
  clusterOk: rarely(97),
  stale: rarely(5),
  pod: fc.constantFrom("running", "running", "running", "running", "unstarted", "unable", "none"),
});
type Weather = typeof weather extends fc.Arbitrary<infer T> ? T : never;

function under(healthy: RolloutMember, sky: Weather, primary: string): RolloutMember {
  const { going, letGo, ready, outdated, pod } = sky;
  const leads = healthy.member === 0 || sky.leads;
  const answer =
    sky.silent || healthy.answer === undefined || pod !== "running"
      ? undefined
      : {
          ...healthy.answer,
          ageMs: sky.stale ? 9000 : 10,
          ownSlots: leads ? 5461 : 0,
          primaryId: leads ? "" : primary,
          inSync: !leads && sky.inSync,
          clusterOk: sky.clusterOk,
        };
  const holdsNothing = pod === "none" || pod === "unstarted";
  return { ...healthy, pod, going, letGo, ready, outdated, answer, holdsNothing };
}

const views = fc
  .record({
    shards: fc.integer({ min: 3, max: 6 }),
    replicas: fc.integer({ min: 0, max: 3 }),
    skies: fc.array(weather, { minLength: 24, maxLength: 24 }),
    maxUnavailable: fc.integer({ min: 1, max: 6 }),
    keepsData: fc.boolean(),
  })
  .map(({ shards, replicas, skies, ...rest }): RolloutView => {
    const shape = { shards, replicas };
    const { members, ...base } = rolloutOf({ shape });
    const changed = members.map((one, index) => {
      const sky = skies[index];
      return sky === undefined ? one : under(one, sky, `id-shop-${one.shard}-0`);
    });
    return { ...base, members: changed, ...rest };
  });

const runs = ({ holdsNothing, going, pod }: RolloutMember) => !holdsNothing && !going && pod !== "none";

test("the last copy of a shard that is in sync is never taken", () => {
  fc.assert(
    fc.property(views, (view) => {
      const { replace } = planRollout(view);
      for (const taken of view.members.filter((one) => replace.has(one.name) && runs(one))) {
        const shard = view.members.filter(({ shard }) => shard === taken.shard);
        const stay = shard.filter((one) => !replace.has(one.name) && unwell(one) === undefined);
        if (shard.length === 1) expect(view.keepsData).toBe(true);
        else expect(stay.length).toBeGreaterThan(0);
        if (shard.length > 1) expect(isPrimary(taken)).toBe(false);
      }
    }),
    { numRuns: 3000 },
  );
});

test("in no more shards than is allowed pods are away or primaries hand over, and a majority of the voters stays", () => {
  fc.assert(
    fc.property(views, (view) => {
      const { replace, handovers } = planRollout(view);
      const chosen = view.members.filter((one) => runs(one) && replace.has(one.name));
      expect(handovers.length).toBeLessThanOrEqual(view.maxUnavailable);
      if (chosen.length === 0) return;
      const away = view.members.filter((one) => chosen.includes(one) || unwell(one) !== undefined);
      expect(new Set(away.map(({ shard }) => shard)).size).toBeLessThanOrEqual(view.maxUnavailable);
      const voters = chooseVoters(view.members.map((one) => ({ ...one, node: one.name })));
      const left = view.members.filter((one) => voters.includes(one.name) && !away.includes(one));
      expect(left.length).toBeGreaterThan((voters.length - handovers.length) / 2 - handovers.length);
    }),
    { numRuns: 3000 },
  );
});

test("only an outdated pod is ever replaced, and only a primary with a copy beside it hands over", () => {
  fc.assert(
    fc.property(views, (view) => {
      const { replace, handovers } = planRollout(view);
      for (const one of view.members.filter(({ name }) => replace.has(name))) expect(one.outdated).toBe(true);
      for (const { node } of handovers) {
        const old = view.members.find(({ name }) => name === node);
        const heirs = view.members.filter(
          (one) => one.shard === old?.shard && one !== old && unwell(one) === undefined,
        );
        expect(heirs.length).toBeGreaterThan(0);
      }
    }),
    { numRuns: 1000 },
  );
});

/** What is decided is done at once, and everybody is well again before the next look. */
function play(view: RolloutView): { readonly rounds: number; readonly left: number } {
  let now = view;
  for (let rounds = 0; rounds < 200; rounds += 1) {
    const { replace, handovers, progress } = planRollout(now);
    if (progress === undefined) return { rounds, left: 0 };
    if (replace.size + handovers.length === 0) return { rounds, left: progress.pods - progress.updated };
    const moved = new Set(handovers.map(({ node }) => node));
    now = { ...now, members: now.members.map((one) => after(one, now, { replace, moved })) };
  }
  return { rounds: 200, left: Number.POSITIVE_INFINITY };
}

interface Done {
  readonly replace: ReadonlySet<string>;
  readonly moved: ReadonlySet<string>;
}

function after(one: RolloutMember, view: RolloutView, { replace, moved }: Done): RolloutMember {
  if (replace.has(one.name)) return { ...one, ...UPDATED };
  const old = view.members.find(({ name, shard }) => shard === one.shard && moved.has(name));
  const heir = view.members.find(({ name, shard }) => shard === one.shard && !moved.has(name));
  if (old?.answer === undefined || heir?.answer === undefined || one.answer === undefined) return one;
  if (one.name === heir.name) {
    return { ...one, answer: { ...one.answer, ownSlots: old.answer.ownSlots, primaryId: "", inSync: false } };
  }
  return { ...one, answer: { ...one.answer, ownSlots: 0, primaryId: heir.answer.nodeId, inSync: true } };
}

test("a healthy cluster is changed to its last pod", () => {
  fc.assert(
    fc.property(
      fc.record({
        shards: fc.integer({ min: 3, max: 6 }),
        replicas: fc.integer({ min: 0, max: 3 }),
        maxUnavailable: fc.integer({ min: 1, max: 6 }),
        canarySeconds: fc.constantFrom(0, 30),
      }),
      ({ shards, replicas, ...rest }) => {
        expect(play(rolloutOf({ shape: { shards, replicas }, ...rest })).left).toBe(0);
      },
    ),
    { numRuns: 200 },
  );
});

test("the same holds for one shard of many", () => {
  expect(member({ shard: 0, member: 0 }, { shards: 3, replicas: 1 }).outdated).toBe(true);
  expect(play(rolloutOf()).rounds).toBe(9);
});
