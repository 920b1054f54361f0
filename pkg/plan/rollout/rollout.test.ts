import { expect, test } from "bun:test";
import { planRollout } from "./rollout.ts";
import { handedOver, member, NOW, rolloutOf, type TestView, UPDATED } from "./test-view.ts";

const SHAPE = { shards: 3, replicas: 1 };
const steps = (view: TestView) => {
  const { replace, handovers, holds } = planRollout(rolloutOf(view));
  return { replace: [...replace], handovers: handovers.map(({ node }) => node), holds: holds.map(({ name }) => name) };
};
const answer = (name: string, change: object) => {
  const [, shard = "0", place = "0"] = name.split("-");
  const { answer: healthy } = member({ shard: Number(shard), member: Number(place) }, SHAPE);
  return healthy === undefined ? {} : { answer: { ...healthy, ...change } };
};

test("a replica goes first, of one shard", () => {
  expect(steps({})).toEqual({ replace: ["shop-0-1"], handovers: [], holds: [] });
});

test("then the primary hands over, and goes when it is a replica; then the next shard", () => {
  expect(steps({ change: { "shop-0-1": UPDATED } }).handovers).toEqual(["shop-0-0"]);
  expect(steps({ change: handedOver(0, SHAPE) })).toMatchObject({ replace: ["shop-0-0"], handovers: [] });
  const done = { "shop-0-0": UPDATED, "shop-0-1": UPDATED };
  expect(steps({ change: done })).toMatchObject({ replace: ["shop-1-1"], handovers: [] });
});

test("a new pod is waited for until it is ready, in sync, and at one with the cluster", () => {
  const waits = (change: object) => steps({ change: { "shop-0-1": { ...UPDATED, ...change } } });
  const held = { replace: [], handovers: [], holds: ["new-pods-well"] };
  expect(waits({ ready: false })).toEqual(held);
  expect(waits(answer("shop-0-1", { inSync: false }))).toEqual(held);
  expect(waits(answer("shop-0-1", { clusterOk: false }))).toEqual(held);
  expect(waits(answer("shop-0-1", { ageMs: 10_000 }))).toEqual(held);
  expect(waits({ answer: undefined, silence: "no route" })).toEqual(held);
  expect(waits({ pod: "unstarted", holdsNothing: true })).toEqual(held);
  expect(waits({ troubles: ["its server was restarted and is still without databases"] })).toEqual(held);
});

test("shards go side by side as far as maxUnavailable, once a first new pod is well", () => {
  expect(steps({ maxUnavailable: 2 }).replace).toEqual(["shop-0-1"]);
  const change = { "shop-0-1": UPDATED, "shop-0-0": UPDATED };
  expect(steps({ maxUnavailable: 2, change }).replace).toEqual(["shop-1-1", "shop-2-1"]);
  const shape = { shards: 5, replicas: 1 };
  expect(steps({ maxUnavailable: 9, shape, change }).replace).toHaveLength(4);
});

test("what else is away counts, and is named", () => {
  const change = { "shop-2-0": UPDATED, "shop-2-1": { ...UPDATED, ready: false } };
  const { holds, replace } = planRollout(rolloutOf({ change }));
  expect([...replace]).toEqual([]);
  expect(holds).toEqual([
    { name: "shards-at-once", reason: "spec.update.maxUnavailable is 1: shard 2: shop-2-1 is not ready" },
  ]);
});

test("so many agents stay that a majority says who may write", () => {
  const change = { "shop-0-1": UPDATED };
  expect(steps({ maxUnavailable: 9, shape: { shards: 3, replicas: 0 }, change }).replace).toEqual(["shop-0-0"]);
  const five = { shards: 5, replicas: 0 };
  expect(steps({ maxUnavailable: 9, shape: five, change: { "shop-0-0": UPDATED } })).toMatchObject({
    replace: ["shop-1-0", "shop-2-0"],
    holds: ["voters-left"],
  });
});

test("with no replica the pod goes only if its data stays", () => {
  const shape = { shards: 3, replicas: 0 };
  expect(steps({ shape }).replace).toEqual(["shop-0-0"]);
  expect(steps({ shape, keepsData: false })).toEqual({ replace: [], handovers: [], holds: ["another-copy"] });
});

test("a pod whose server never ran gets what is asked for at once, whatever the window", () => {
  const change = { "shop-1-1": { pod: "unstarted", holdsNothing: true } } as const;
  expect(steps({ change, window: "0 4 * * *" })).toMatchObject({ replace: ["shop-1-1"], holds: ["window-open"] });
});

test("a replica that is no use goes before one that is, so that a bad pod goes back when the spec does", () => {
  const shape = { shards: 3, replicas: 2 };
  const bad = { ...answer("shop-0-2", { inSync: false }), ready: false };
  expect(steps({ shape, change: { "shop-0-2": bad } }).replace).toEqual(["shop-0-2"]);
});

test("nothing older is put beside primaries of a newer major, not even as a cure", () => {
  const cure = { "shop-0-1": { pod: "unstarted", holdsNothing: true } } as const;
  const { replace, handovers, holds } = planRollout(rolloutOf({ wantedVersion: "8.1", change: cure }));
  expect([...replace, ...handovers]).toEqual([]);
  expect(holds.map(({ name }) => name)).toEqual(["no-downgrade"]);
  expect(holds[0]?.reason).toContain("9.1.0");
  const older = { shards: 3, replicas: 1 };
  const back = Object.fromEntries(
    [0, 1, 2].map((shard) => [`shop-${shard}-0`, answer(`shop-${shard}-0`, { version: "8.1.4" })]),
  );
  expect(steps({ shape: older, wantedVersion: "8.1", change: back }).replace).toEqual(["shop-0-1"]);
});

test("what a server would not start with is put right first; a failover by hand goes first", () => {
  expect(steps({ change: { "shop-2-0": { refused: ["io-threads"] } } }).holds).toEqual(["settings-accepted"]);
  expect(steps({ failover: "abc" }).holds).toEqual(["no-failover-under-way"]);
});

test("a primary hands over when its replica could win the election", () => {
  const heir = rolloutOf().members.find(({ name }) => name === "shop-0-1");
  if (heir?.answer === undefined) throw new Error("the test's cluster has no such replica");
  const stranger = { ...UPDATED, answer: { ...heir.answer, electable: false } };
  expect(steps({ change: { "shop-0-1": stranger } })).toMatchObject({ handovers: [], holds: ["successor-electable"] });
  expect(steps({ change: { "shop-0-1": UPDATED } }).handovers).toEqual(["shop-0-0"]);
});

test("the first shard is watched for as long as is asked", () => {
  const done = (secondsAgo: number) => {
    const readySince = new Date(NOW.getTime() - secondsAgo * 1000);
    return { "shop-0-0": { ...UPDATED, readySince }, "shop-0-1": { ...UPDATED, readySince } };
  };
  expect(steps({ canarySeconds: 60 }).replace).toEqual(["shop-0-1"]);
  expect(steps({ canarySeconds: 60, change: { "shop-0-1": UPDATED } }).handovers).toEqual(["shop-0-0"]);
  expect(steps({ canarySeconds: 60, change: done(30) })).toMatchObject({ replace: [], holds: ["first-shard-watched"] });
  expect(steps({ canarySeconds: 60, change: done(61) }).replace).toEqual(["shop-1-1"]);
});

test("progress counts pods and names the next; a cluster that is as asked has none", () => {
  const { progress, moving } = planRollout(rolloutOf({ change: { "shop-0-1": UPDATED } }));
  expect({ progress, moving }).toEqual({ progress: { pods: 6, updated: 1, next: "shop-0-0" }, moving: true });
  const all = Object.fromEntries(rolloutOf().members.map(({ name }) => [name, UPDATED]));
  expect(planRollout(rolloutOf({ change: all }))).toMatchObject({ progress: undefined, moving: false, holds: [] });
});

test("a closed window is looked at again when it opens", () => {
  const { moving, requeueAfterMs } = planRollout(rolloutOf({ window: "30 13 * * *" }));
  expect({ moving, requeueAfterMs }).toEqual({ moving: false, requeueAfterMs: 90 * 60_000 });
});

test("while a pod of another shard comes back a primary hands over, and no pod goes", () => {
  const change = { "shop-0-1": UPDATED, "shop-1-1": { ...UPDATED, ready: false } };
  const { handovers, replace } = planRollout(rolloutOf({ change }));
  expect(handovers.map(({ node }) => node)).toEqual(["shop-0-0"]);
  expect([...replace]).toEqual([]);
});
