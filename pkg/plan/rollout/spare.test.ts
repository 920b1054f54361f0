import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { isSpare, spareOf } from "../objects/members.ts";
import { planRollout, type RolloutPlan } from "./rollout.ts";
import { member, NOW, rolloutOf, type Shape, type TestView, UPDATED } from "./test-view.ts";
import { isPrimary, type RolloutMember, type RolloutView } from "./view.ts";
import { unwell } from "./wellness.ts";

const SHAPE = { shards: 3, replicas: 1 };

function surge(view: TestView = {}, spares: readonly RolloutMember[] = []): RolloutView {
  const made = rolloutOf({ strategy: "Surge", ...view });
  return { ...made, members: [...made.members, ...spares] };
}

/** Made as the spec asks, and in sync. */
function spare(shard: number, change: Partial<RolloutMember> = {}, shape: Shape = SHAPE): RolloutMember {
  return { ...member(spareOf(shard), shape), ...UPDATED, ...change };
}

function told({ replace, handovers, addSpares, retire, holds }: RolloutPlan) {
  return {
    replace: [...replace],
    handovers: handovers.map(({ node, successor }) => `${node} to ${successor}`),
    addSpares: [...addSpares],
    retire: [...retire],
    holds: holds.map(({ name }) => name),
  };
}

const NOTHING = { replace: [], handovers: [], addSpares: [], retire: [], holds: [] };
const NAME = "shop-0-999";

test("a spare comes before anybody goes, of one shard at a time", () => {
  expect(told(planRollout(surge()))).toEqual({ ...NOTHING, addSpares: [0] });
});

test("while it is not in sync nothing that was there is touched, and what is waited for is named", () => {
  const view = surge({}, [spare(0, { ready: false })]);
  expect(told(planRollout(view))).toEqual({ ...NOTHING, holds: ["new-pods-well"] });
});

test("then replicas, then a handover to one of those that stay, then the old primary", () => {
  expect(told(planRollout(surge({}, [spare(0)])))).toEqual({ ...NOTHING, replace: ["shop-0-1"] });
  const after = surge({ change: { "shop-0-1": UPDATED } }, [spare(0)]);
  expect(told(planRollout(after))).toEqual({ ...NOTHING, handovers: ["shop-0-0 to shop-0-1"] });
});

test("without replicas the spare leads meanwhile, and hands back", () => {
  const shape = { shards: 3, replicas: 0 };
  const alone = surge({ shape, keepsData: false }, [spare(0, {}, shape)]);
  expect(told(planRollout(alone))).toEqual({ ...NOTHING, handovers: ["shop-0-0 to "] });
  const old = member({ shard: 0, member: 0 }, shape).answer;
  const one = spare(0, {}, shape);
  if (old === undefined || one.answer === undefined) throw new Error("both answer");
  const leads = { ...one, answer: { ...one.answer, ownSlots: old.ownSlots, primaryId: "", inSync: false } };
  const follows = { answer: { ...old, ownSlots: 0, primaryId: one.answer.nodeId, inSync: true } };
  const handed = surge({ shape, keepsData: false, change: { "shop-0-0": follows } }, [leads]);
  expect(told(planRollout(handed))).toEqual({ ...NOTHING, replace: ["shop-0-0"] });
  const done = surge({ shape, change: { "shop-0-0": { ...follows, ...UPDATED } } }, [leads]);
  expect(told(planRollout(done)).handovers).toEqual([`${NAME} to shop-0-0`]);
});

test("it goes when its shard is as asked and well, or when the spec goes back, whatever the window", () => {
  const done = { "shop-0-0": UPDATED, "shop-0-1": UPDATED };
  const window = "0 4 * * *";
  expect(told(planRollout(surge({ change: done, window }, [spare(0)])))).toMatchObject({ retire: [NAME] });
  const unready = { ...done, "shop-0-1": { ...UPDATED, ready: false } };
  expect(told(planRollout(surge({ change: unready }, [spare(0)]))).retire).toEqual([]);
  const all = Object.fromEntries(rolloutOf().members.map(({ name }) => [name, UPDATED]));
  const broken = { outdated: true, ready: false, answer: undefined, pod: "unable" } as const;
  expect(told(planRollout(surge({ change: all }, [spare(0, broken)]))).retire).toEqual([NAME]);
});

test("the change is not over while a spare is there; it is none of the pods that are counted", () => {
  const all = Object.fromEntries(rolloutOf().members.map(({ name }) => [name, UPDATED]));
  const { progress, moving } = planRollout(surge({ change: all }, [spare(2)]));
  expect({ progress, moving }).toEqual({ progress: { pods: 6, updated: 6, next: "shop-2-999" }, moving: true });
});

test("another strategy lets spares go as well", () => {
  expect(told(planRollout(surge({ strategy: "Rolling" }, [spare(0)])))).toMatchObject({ retire: [NAME] });
});

test("a spare of an older template is made anew first", () => {
  const view = surge({ change: { "shop-0-1": UPDATED } }, [spare(0, { outdated: true })]);
  expect(told(planRollout(view)).replace).toEqual([NAME]);
});

test("the first spare is watched for as long as is asked", () => {
  const since = (secondsAgo: number) => [spare(0, { readySince: new Date(NOW.getTime() - secondsAgo * 1000) })];
  expect(told(planRollout(surge({ canarySeconds: 60 }, since(30))))).toEqual({ ...NOTHING, holds: ["spare-watched"] });
  expect(told(planRollout(surge({ canarySeconds: 60 }, since(61)))).replace).toEqual(["shop-0-1"]);
  const begun = surge({ canarySeconds: 60, change: { "shop-0-1": UPDATED } }, since(30));
  expect(told(planRollout(begun)).handovers).toEqual(["shop-0-0 to shop-0-1"]);
});

/** What is decided is done at once, and everybody is well again before the next look. */
function step(view: RolloutView, plan: RolloutPlan, shape: Shape): RolloutView {
  const stay = view.members.filter(({ name }) => !plan.retire.has(name));
  const came = [...plan.addSpares].map((shard) => follow(spare(shard, {}, shape), view.members));
  const members = [...stay, ...came].map((one) => (plan.replace.has(one.name) ? { ...one, ...UPDATED } : one));
  let now: RolloutView = { ...view, members };
  for (const { node, successor } of plan.handovers) now = handOver(now, node, successor);
  return now;
}

function follow(one: RolloutMember, members: readonly RolloutMember[]): RolloutMember {
  const primary = members.find((other) => other.shard === one.shard && isPrimary(other));
  if (one.answer === undefined || primary?.answer === undefined) throw new Error("a shard is led");
  return { ...one, answer: { ...one.answer, primaryId: primary.answer.nodeId } };
}

function handOver(view: RolloutView, node: string, successor: string): RolloutView {
  const old = view.members.find(({ name }) => name === node);
  const heir = view.members.find(
    ({ name, shard }) => shard === old?.shard && name !== node && (successor === "" || name === successor),
  );
  const [from, to] = [old?.answer, heir?.answer];
  if (from === undefined || to === undefined || heir === undefined)
    throw new Error(`${node} has nobody to hand over to`);
  const members = view.members.map((one) => {
    if (one.shard !== heir.shard || one.answer === undefined) return one;
    const leads = one === heir;
    const [ownSlots, primaryId] = leads ? [from.ownSlots, ""] : [0, to.nodeId];
    return { ...one, answer: { ...one.answer, ownSlots, primaryId, inSync: !leads } };
  });
  return { ...view, members };
}

test("no shard ever has fewer copies than the spec asks for, and at the end no spare is left", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 3, max: 5 }),
      fc.integer({ min: 0, max: 2 }),
      fc.integer({ min: 1, max: 3 }),
      (shards, replicas, maxUnavailable) => {
        const shape = { shards, replicas };
        let view = surge({ shape, maxUnavailable, keepsData: false });
        for (let rounds = 0; rounds < 200; rounds += 1) {
          const plan = planRollout(view);
          for (const name of plan.replace) {
            const taken = view.members.find((one) => one.name === name);
            const left = view.members.filter((one) => one.shard === taken?.shard && one !== taken);
            expect(left.filter((one) => unwell(one) === undefined).length).toBeGreaterThanOrEqual(1 + replicas);
          }
          if (plan.progress === undefined) break;
          view = step(view, plan, shape);
        }
        expect(view.members.filter((one) => one.outdated || isSpare(one))).toEqual([]);
        expect(view.members).toHaveLength(shards * (1 + replicas));
      },
    ),
    { numRuns: 100 },
  );
});
