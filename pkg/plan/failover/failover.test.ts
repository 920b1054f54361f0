import { expect, test } from "bun:test";
import { NOW, rolloutOf, type TestView } from "../rollout/test-view.ts";
import { planFailover } from "./failover.ts";
import type { FailoverOutcome, FailoverView } from "./view.ts";

const request = { id: "maintenance-1", shard: 1, at: NOW.toISOString() };
const view = (change: Partial<FailoverView> = {}, cluster: TestView = {}): FailoverView => ({
  request,
  recorded: undefined,
  outcome: undefined,
  asked: new Set(),
  members: rolloutOf(cluster).members,
  now: NOW,
  ...change,
});
const begun = planFailover(view()).status;
const outcome = (change: Partial<FailoverOutcome>): FailoverOutcome => ({
  request: request.id,
  result: "handed-over",
  successor: "shop-1-1",
  writesWaitedMs: 41,
  message: "",
  ...change,
});

test("that it begins is written down before an agent is asked", () => {
  const { steps, status, underWay } = planFailover(view());
  expect(steps).toEqual([]);
  expect(status).toMatchObject({ phase: "Running", shard: 1, from: "shop-1-0" });
  expect(underWay).toBe(request.id);
  expect(planFailover(view({ recorded: begun })).steps).toMatchObject([
    { do: "handover", node: "shop-1-0", nodeId: "id-shop-1-0", successor: "", request: request.id },
  ]);
});

test("what came of it is told, with the time that writes waited, and it is not done again", () => {
  const { steps, status } = planFailover(view({ recorded: begun, outcome: outcome({}) }));
  expect(steps).toEqual([]);
  expect(status).toMatchObject({ phase: "Done", to: "shop-1-1", writesWaitedMs: 41 });
  expect(planFailover(view({ recorded: status }))).toEqual({ steps: [], status, underWay: undefined });
});

test("an agent that does not hand over says why", () => {
  const refused = outcome({ result: "refused", message: "no replica is in sync" });
  expect(planFailover(view({ recorded: begun, outcome: refused })).status).toMatchObject({
    phase: "Failed",
    message: "shop-1-0 leads on: no replica is in sync",
  });
});

test("after an operator that died the next one sees who leads, and asks again only if nothing has happened", () => {
  expect(planFailover(view({ recorded: begun })).steps).toHaveLength(1);
  const [old, heir] = rolloutOf().members.filter(({ shard }) => shard === 1);
  if (old?.answer === undefined || heir?.answer === undefined) throw new Error("the test's cluster has no such shard");
  const change = {
    "shop-1-0": { answer: { ...old.answer, ownSlots: 0, primaryId: "id-shop-1-1", inSync: true } },
    "shop-1-1": { answer: { ...heir.answer, ownSlots: 5461, primaryId: "", inSync: false } },
  };
  const { steps, status } = planFailover(view({ recorded: begun }, { change }));
  expect(steps).toEqual([]);
  expect(status).toMatchObject({ phase: "Done", to: "shop-1-1" });
  expect(status).not.toHaveProperty("writesWaitedMs");
  // The same when the answer was lost on its way.
  const lost = outcome({ result: "unanswered", successor: "", message: "timeout" });
  expect(planFailover(view({ recorded: begun, outcome: lost }, { change })).status?.phase).toBe("Done");
});

test("while an agent is being asked its answer is waited for, whoever leads", () => {
  const { steps, status } = planFailover(view({ recorded: begun, asked: new Set(["shop-1-0"]) }));
  expect({ steps, status }).toEqual({ steps: [], status: begun });
});

test("the answer to another request says nothing", () => {
  expect(planFailover(view({ recorded: begun, outcome: outcome({ request: "earlier-one" }) })).steps).toHaveLength(1);
});

test("what cannot be done is said at once", () => {
  const words = (change: Partial<FailoverView>, cluster: TestView = {}) => {
    const { steps, status } = planFailover(view(change, cluster));
    expect({ steps, phase: status?.phase }).toEqual({ steps: [], phase: "Failed" });
    return status?.message;
  };
  expect(words({ request: { ...request, shard: 7 } })).toContain("there is no shard 7: there are 0 to 2");
  expect(words({ request: { ...request, to: "shop-1-0" } })).toContain("shop-1-0 leads shard 1 already");
  expect(words({ request: { ...request, to: "shop-2-1" } })).toContain("shop-2-1 is no node of shard 1");
  expect(words({}, { change: { "shop-1-1": { ready: false } } })).toContain("shop-1-1 is not ready");
  expect(words({}, { shape: { shards: 3, replicas: 0 } })).toContain("no replica");
  expect(words({}, { change: { "shop-1-0": { answer: undefined, silence: "no route" } } })).toContain("no primary");
});

test("agents that were not asked yet are waited for; what waited too long is not done when nobody expects it", () => {
  const change = { "shop-1-1": { answer: undefined } };
  expect(planFailover(view({}, { change })).status?.phase).toBe("Pending");
  const late = new Date(NOW.getTime() + 6 * 60_000);
  expect(planFailover(view({ now: late })).status).toMatchObject({ phase: "Failed" });
});

test("a replica that is not known to all primaries yet is waited for, and then it is said", () => {
  const heir = rolloutOf().members.find(({ name }) => name === "shop-1-1")?.answer;
  if (heir === undefined) throw new Error("the test's cluster has no such replica");
  const change = { "shop-1-1": { answer: { ...heir, electable: false } } };
  expect(planFailover(view({}, { change }))).toMatchObject({ steps: [], status: { phase: "Pending" } });
  const late = new Date(NOW.getTime() + 11_000);
  const { phase, message } = planFailover(view({ now: late }, { change })).status ?? {};
  expect(phase).toBe("Failed");
  expect(message).toContain("shop-1-1 and the primaries are not all connected yet");
});
