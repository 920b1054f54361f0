import { expect, test } from "bun:test";
import { planResume, planStop, type ServerNow } from "./stop.ts";

const NOW = new Date("2026-11-16T12:00:00Z");

function server(node: string, rest: Partial<ServerNow> = {}): ServerNow {
  const [, shard = "0", member = "0"] = node.split("-");
  return {
    node,
    shard: Number(shard),
    primary: member === "0",
    podUid: `uid-${node}`,
    podGoing: false,
    stopped: false,
    serverRuns: true,
    silentSince: undefined,
    ...rest,
  };
}

const stops = (servers: readonly ServerNow[]) =>
  planStop(servers, { save: true, now: NOW }).steps.map(({ node }) => node);

test("primaries stop first, their replicas when they have ended; shards go side by side", () => {
  const begun = [
    server("c-0-0"),
    server("c-0-1"),
    server("c-1-0", { stopped: true }),
    server("c-1-1"),
    server("c-1-2"),
  ];
  expect(stops(begun)).toEqual(["c-0-0", "c-1-1", "c-1-2"]);
  const plan = planStop(begun, { save: true, now: NOW });
  expect(plan.down).toEqual(new Set(["c-1-0"]));
  expect(plan.done).toBe(false);
  expect(plan.steps[0]).toEqual({ do: "stop-server", node: "c-0-0", save: true, lane: "c-0-0" });
});

test("a shard whose primary is not known stops at once", () => {
  expect(stops([server("c-0-0", { primary: false }), server("c-0-1")])).toEqual(["c-0-0", "c-0-1"]);
});

test("an agent that does not answer is waited for, then its pod is ended, and its replicas after it", () => {
  const silent = (seconds: number) => [
    server("c-0-0", { silentSince: new Date(NOW.getTime() - seconds * 1000) }),
    server("c-0-1"),
  ];
  const early = planStop(silent(10), { save: true, now: NOW });
  expect(early.steps).toEqual([]);
  expect(early.holds[0]?.name).toBe("agent-silent");
  expect(early.requeueAfterMs).toBe(20_000);
  const late = planStop(silent(30), { save: true, now: NOW });
  expect(late.down).toEqual(new Set(["c-0-0"]));
  expect(late.steps.map(({ node }) => node)).toEqual(["c-0-1"]);
});

test("a pod whose server never ran goes at once when its agent does not answer", () => {
  const pending = server("c-0-0", { serverRuns: false, silentSince: NOW });
  expect(planStop([pending, server("c-0-1")], { save: true, now: NOW })).toMatchObject({
    down: new Set(["c-0-0"]),
    steps: [{ node: "c-0-1" }],
  });
  expect(planStop([{ ...pending, silentSince: undefined }], { save: true, now: NOW }).steps).toHaveLength(1);
});

test("it is done when no pod is left; with nothing made yet at once", () => {
  const gone = [server("c-0-0", { podUid: undefined }), server("c-0-1", { podUid: undefined })];
  expect(planStop(gone, { save: true, now: NOW })).toMatchObject({ done: true, steps: [], holds: [] });
  expect(planStop([], { save: true, now: NOW }).done).toBe(true);
  expect(planStop([server("c-0-0", { podGoing: true })], { save: true, now: NOW })).toMatchObject({
    done: false,
    message: "0 of 1 pods are stopped",
  });
});

test("whoever was told to stop before the cluster was resumed loses that pod first", () => {
  const servers = [
    server("c-0-0", { stopped: true }),
    server("c-0-1", { stopped: true, podGoing: true }),
    server("c-1-0"),
    server("c-1-1", { podUid: undefined, stopped: true }),
  ];
  expect(planResume(servers).down).toEqual(new Set(["c-0-0", "c-0-1"]));
});
