import { describe, expect, test } from "bun:test";
import { spareOf } from "../objects/members.ts";
import { planFormation } from "./formation.ts";
import type { FormationStep } from "./step.ts";
import { ALL_SLOTS, answering, inputOf, knownNode, memberView, running } from "./test-members.ts";
import type { FormationInput } from "./view.ts";

/** What is done, pushes left out, and why something is not. */
function outcome(input: FormationInput) {
  const { steps, holds } = planFormation(input);
  return { steps: steps.filter((step) => step.do !== "configure"), holds: holds.map(({ name }) => name) };
}

function kinds(steps: readonly FormationStep[]): string[] {
  return steps.map((step) => `${step.do} ${step.node}`);
}

const gated = (hasData: boolean, offset = 0) =>
  ({
    phase: "gated",
    keys: hasData ? 1 : 0,
    disk: { hasData, epoch: 1, offset, id: "id0", primary: hasData },
  }) as const;

describe("a shard begins", () => {
  test("with its lowest member as owner once all have answered", () => {
    const { steps, holds } = outcome(inputOf(running(0, {}), running(1, {})));
    const own = { do: "own", node: "c-0-0", lane: "c-0-0", nodeId: "id0", slots: ALL_SLOTS, configEpoch: 1 } as const;
    expect(steps).toEqual([own]);
    expect(holds).toEqual([]);
  });

  test("above every epoch of which an agent remembers a lease", () => {
    const { steps } = outcome(inputOf(running(0, { currentEpoch: 2 }), running(1, {}, { leaseEpoch: 8 })));
    expect(steps).toMatchObject([{ do: "own", node: "c-0-0", configEpoch: 9 }]);
  });

  test("in its first moments with its first member, which is about to start", () => {
    const soon = { ...gated(false), disk: undefined };
    const young = answering(0, soon, { wantedForMs: 5000 });
    expect(outcome(inputOf(young, running(1, {}))).holds).toEqual(["first-member-starts"]);
    expect(kinds(outcome(inputOf(answering(0, soon), running(1, {}))).steps)).toEqual(["own c-0-1"]);
  });

  test("not while a member has not answered: it may have data", () => {
    const holds = ["quorum-lost", "member-unreachable"];
    expect(outcome(inputOf(running(0, {}), memberView(1)))).toEqual({ steps: [], holds });
  });

  test("without a member that never ran and does not start", () => {
    const missing = memberView(1, { podRuns: false, ip: undefined, recordedId: undefined });
    expect(kinds(outcome(inputOf(running(0, {}), missing)).steps)).toEqual(["own c-0-0"]);
    expect(outcome(inputOf(running(0, {}), { ...missing, wantedForMs: 1000 })).holds).toEqual(["member-unreachable"]);
    expect(outcome(inputOf(running(0, {}), { ...missing, oldVolume: true })).holds).toEqual(["member-unreachable"]);
    const words = (change: object) =>
      planFormation(inputOf(running(0, {}), { ...missing, wantedForMs: 1000, ...change })).holds.map(
        ({ reason }) => reason,
      );
    expect(words({}).join()).toContain("the pod of c-0-1 does not run yet");
    expect(words({ oldVolume: true }).join()).toContain("its copy of the data may be the newest");
  });

  test("not with an owner whose id is not on record: a crash could forget that it ever owned", () => {
    const { steps, holds } = outcome(inputOf(running(0, {}, {}, { recordedId: undefined })));
    expect({ steps, holds }).toEqual({ steps: [], holds: ["id-not-recorded"] });
  });

  test("not empty while a member at the gate has data or the slots", () => {
    expect(outcome(inputOf(answering(0, gated(true)), running(1, {}))).holds).toEqual(["data-at-the-gate"]);
    const owner = { ...gated(false), disk: { ...gated(false).disk, primary: true } };
    expect(outcome(inputOf(answering(0, owner), running(1, {}))).holds).toEqual(["owner-at-the-gate"]);
  });

  test("not on an old answer", () => {
    const fresh = running(0, {});
    if (fresh.contact.known !== "answer") throw new Error("unreachable");
    const old = { ...fresh, contact: { ...fresh.contact, ageMs: 60_000 } };
    expect(outcome(inputOf(old))).toEqual({ steps: [], holds: ["answer-too-old"] });
  });
});

test("a new leader plans nothing before every agent was asked", () => {
  const { steps, holds } = planFormation(inputOf(running(0, {}), memberView(1, { contact: { known: "not-asked" } })));
  expect(steps).toEqual([]);
  expect(holds.map(({ name }) => name)).toEqual(["agents-not-asked"]);
});

describe("a shard that is led", () => {
  const owner = running(0, { slots: ALL_SLOTS, configEpoch: 1, nodes: [knownNode(1)] });

  test("gets its other members as followers when they are being introduced, and tells them its slots", () => {
    const tell = { do: "meet", node: "c-0-0", lane: "c-0-0", peers: ["c-0-1"] } as const;
    const stranger = inputOf(running(0, { slots: ALL_SLOTS, configEpoch: 1 }), running(1, {}));
    expect(outcome(stranger)).toEqual({ steps: [tell], holds: [] });
    const follow = { do: "follow", node: "c-0-1", lane: "c-0-1", nodeId: "id1", primaryId: "id0" } as const;
    const deaf = running(1, { nodes: [knownNode(0)] });
    expect(outcome(inputOf(owner, deaf)).steps).toEqual([follow, tell]);
    const aware = running(1, { nodes: [knownNode(0, { slots: ALL_SLOTS })] });
    expect(outcome(inputOf(owner, aware)).steps).toEqual([follow]);
  });

  test("has its replicas known as such by everybody: who takes one for a primary does not vote for it", () => {
    const replica = running(1, { role: "replica", primaryId: "id0", nodes: [knownNode(0, { slots: ALL_SLOTS })] });
    const tell = { do: "meet", node: "c-0-1", lane: "c-0-1", peers: ["c-0-0"] } as const;
    expect(outcome(inputOf(owner, replica)).steps).toEqual([tell]);
    const heard = running(0, { slots: ALL_SLOTS, configEpoch: 1, nodes: [knownNode(1, { role: "replica" })] });
    expect(outcome(inputOf(heard, replica)).steps).toEqual([tell]);
    const { contact } = replica;
    if (contact.known !== "answer") throw new Error("it answers");
    const justNow = { ...replica, contact: { ...contact, steadyMs: 100 } };
    expect(outcome(inputOf(owner, justNow)).steps).toEqual([]);
    const aware = running(0, {
      slots: ALL_SLOTS,
      configEpoch: 1,
      nodes: [knownNode(1, { role: "replica", primaryId: "id0" })],
    });
    expect(outcome(inputOf(aware, replica)).steps).toEqual([]);
  });

  test("is told of again while somebody leads it: a replica that has to be elected keeps its connections", () => {
    const orphan = running(1, { role: "replica", primaryId: "id0", nodes: [knownNode(2, { role: "replica" })] });
    const other = running(2, { role: "replica", primaryId: "id0", nodes: [knownNode(1, { role: "replica" })] });
    const gone = memberView(0, { podRuns: false });
    expect(outcome(inputOf(gone, orphan, other)).steps.filter((step) => step.do === "meet")).toEqual([]);
  });

  test("gets a spare as a follower only when every agent has heard of it", () => {
    const { member } = spareOf(0);
    const owner = running(0, { slots: ALL_SLOTS });
    const spare = running(member, { nodes: [knownNode(0, { slots: ALL_SLOTS })] });
    const behind = { applied: { configurationHash: "before", secretsHash: "s" } };
    const replica = { role: "replica", primaryId: "id0" } as const;
    const told = outcome(inputOf(owner, running(1, replica), spare));
    expect(kinds(told.steps)).toContain(`follow c-0-${member}`);
    const untold = outcome(inputOf(owner, running(1, replica, behind), spare));
    expect(kinds(untold.steps)).not.toContain(`follow c-0-${member}`);
    expect(untold.holds).toEqual(["all-know-the-spare"]);
    const silent = outcome(inputOf(owner, memberView(1), spare));
    expect(silent.holds).toEqual(["all-know-the-spare"]);
  });

  test("keeps a member with keys of its own apart until a person has looked", () => {
    const rich = running(1, { configEpoch: 5, nodes: [knownNode(0, { slots: ALL_SLOTS })] }, { keys: 7 });
    expect(outcome(inputOf(owner, rich))).toEqual({ steps: [], holds: ["data-in-the-way"] });
  });

  test("is met by who is known under an old address", () => {
    const moved = running(1, { nodes: [knownNode(0, { slots: ALL_SLOTS })], role: "replica", primaryId: "id0" });
    const host = running(0, {
      slots: ALL_SLOTS,
      configEpoch: 1,
      nodes: [knownNode(1, { role: "replica", primaryId: "id0" })],
    });
    const { steps } = outcome(inputOf(host, { ...moved, ip: "10.0.0.99" }));
    expect(steps).toEqual([{ do: "meet", node: "c-0-0", lane: "c-0-0", peers: ["c-0-1"] }]);
  });
});

describe("a promotion", () => {
  const replica = (offset: number) =>
    running(
      1,
      { role: "replica", primaryId: "id0", configEpoch: 1, nodes: [knownNode(0, { slots: ALL_SLOTS, failed: true })] },
      { keys: 3, replication: { offset, inSync: false, syncing: false } },
    );

  test("comes when the primary is at the gate with less", () => {
    const { steps } = outcome(inputOf(answering(0, gated(false)), replica(10)));
    expect(kinds(steps)).toEqual(["promote c-0-1"]);
  });

  test("does not come while the primary may run, or has more", () => {
    expect(outcome(inputOf(memberView(0), replica(10))).holds).toEqual(["quorum-lost", "member-unreachable"]);
    expect(outcome(inputOf(answering(0, gated(true, 20)), replica(10))).holds).toEqual(["newer-copy"]);
  });
});

describe("a node that is nobody's", () => {
  const stranger = knownNode(7, { failed: true, connected: false });
  const input = (forMs: number, changes = {}) => ({
    ...inputOf(running(0, { slots: ALL_SLOTS, configEpoch: 1, nodes: [{ ...stranger, ...changes }] })),
    strangersForMs: new Map([["id7", forMs]]),
  });

  test("is forgotten when it has been failed for a while", () => {
    expect(outcome(input(1000)).steps).toEqual([]);
    expect(outcome(input(60_000)).steps).toEqual([{ do: "forget", node: "c-0-0", lane: "c-0-0", nodeIds: ["id7"] }]);
  });

  test("is named, not forgotten, while it answers", () => {
    const { steps, holds } = outcome(input(60_000, { failed: false, connected: true }));
    expect({ steps, holds }).toEqual({ steps: [], holds: ["stranger-in-cluster"] });
  });
});
