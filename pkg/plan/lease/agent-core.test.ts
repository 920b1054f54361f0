import { describe, expect, test } from "bun:test";
import { holdsOf } from "./agent-core.ts";
import { RULES } from "./rules.ts";
import { MEMBERS, PRIMARY, replicaSight, Trio } from "./test-agents.ts";

/** A primary with its lease, and both replicas in the set. */
function settled(): Trio {
  const trio = new Trio();
  const replicas = [1, 2].map((member) => ({ node: `a-0-${member}`, online: true, behindMs: 50, ackedAfter: 20_000 }));
  trio.tick(1, replicaSight(1));
  trio.tick(2, replicaSight(2));
  for (let round = 0; round < 3; round += 1) {
    trio.tick(0, { ...PRIMARY, replicas });
    trio.now += 100;
  }
  trio.done.length = 0;
  return trio;
}

const ORPHAN = { linkUp: false };
const GATED = { ...PRIMARY, phase: "gated", role: undefined, run: "a-0-0@2" } as const;

describe("the holder", () => {
  test("opens for writes with a majority of grants, and not without", () => {
    const alone = new Trio();
    alone.cut.add("a-0-0");
    alone.tick(0, PRIMARY);
    expect(alone.did("unfence")).toEqual([]);
    const trio = new Trio();
    trio.tick(0, PRIMARY);
    expect(trio.did("unfence")).toEqual(["a-0-0"]);
  });

  test("asks no more voters than it needs, in turns, until one does not answer", () => {
    const trio = settled();
    const replicas = [1, 2].map((member) => ({
      node: `a-0-${member}`,
      online: true,
      behindMs: 50,
      ackedAfter: 20_000,
    }));
    const renewed = (afterMs = 500) => {
      trio.said.length = 0;
      trio.now += afterMs;
      trio.tick(0, { ...PRIMARY, fenced: false, replicas });
      return trio.said.filter(({ kind }) => kind === "renew").map(({ to }) => to);
    };
    const [first, second, third] = [renewed(), renewed(), renewed()];
    expect([first.length, second.length]).toEqual([1, 1]);
    expect([...first, ...second].toSorted()).toEqual(["a-0-1", "a-0-2"]);
    expect(third).toEqual(first);
    trio.cut.add("a-0-2");
    expect(first).toEqual(["a-0-1"]);
    expect(renewed()).toEqual(["a-0-2"]);
    expect(renewed(100)).toEqual([]);
    expect(renewed(100)).toEqual(["a-0-1", "a-0-2"]);
    expect(renewed(300)).toEqual([]);
    expect(renewed(200)).toEqual(["a-0-1", "a-0-2"]);
    expect(trio.did("fence")).toEqual([]);
  });

  test("fences at 0.7 of the lease, and kills a server that does not confirm", () => {
    const trio = settled();
    trio.cut.add("a-0-0");
    trio.now += 1000;
    trio.tick(0, { ...PRIMARY, fenced: false });
    expect(trio.did("fence")).toEqual([]);
    trio.now += 400;
    trio.tick(0, { ...PRIMARY, fenced: false });
    expect(trio.did("fence")).toEqual(["a-0-0"]);
    trio.now += 700;
    trio.tick(0, { ...PRIMARY, fenced: false });
    expect(trio.did("kill")).toEqual([]);
    trio.now += 100;
    trio.tick(0, { ...PRIMARY, fenced: false });
    expect(trio.did("kill")).toEqual(["a-0-0"]);
  });

  test("leaves the server of a restarted agent for a moment after its lease, and fences then", () => {
    const trio = new Trio(RULES, 10_000);
    trio.cut.add("a-0-0");
    trio.now = 10_600;
    trio.tick(0, { ...PRIMARY, fenced: false });
    expect(trio.did("fence")).toEqual([]);
    trio.now = 10_700;
    trio.tick(0, { ...PRIMARY, fenced: false });
    expect(trio.did("fence")).toEqual(["a-0-0"]);
  });

  test("fences the server of a restarted agent at once when others may have given its lease away", () => {
    const trio = new Trio(RULES, 9000);
    trio.cut.add("a-0-0");
    trio.tick(0, { ...PRIMARY, fenced: false });
    expect(trio.did("fence")).toEqual(["a-0-0"]);
  });

  test("counts a replica as in sync with the run that acknowledged, not with one that has just begun", () => {
    const trio = settled();
    const live = (ackedAfter: number) => {
      trio.now += 500;
      const replicas = [{ node: "a-0-1", online: true, behindMs: 50, ackedAfter }];
      trio.tick(0, { ...PRIMARY, fenced: false, replicas });
      return trio.states[0]?.holder.inSync.members.map(({ run }) => run);
    };
    const { run } = replicaSight(1);
    expect(live(trio.now)).toEqual([run]);
    const lastAcked = trio.now;
    trio.tick(1, { ...replicaSight(1), run: "another", hasData: false, offset: 0 });
    // Whoever is asked tells its run with the answer.
    for (let round = 0; round < 3; round += 1) live(lastAcked);
    expect(live(lastAcked)).toEqual([]);
    expect(live(trio.now)).toEqual(["another"]);
  });

  test("does not kill the only copy: nobody could be promoted beside it", () => {
    const trio = settled();
    const live = (ms: number) => {
      for (let passed = 0; passed < ms; passed += 500) {
        trio.now += 500;
        trio.tick(0, { ...PRIMARY, fenced: false, replicas: [] });
      }
    };
    live(6000);
    trio.cut.add("a-0-0");
    live(6000);
    expect(trio.did("fence")).toContain("a-0-0");
    expect(trio.did("kill")).toEqual([]);
  });

  test("kills a server that is stopped by a signal for a second", () => {
    const trio = settled();
    const stopped = { ...PRIMARY, phase: "silent", suspended: true, fenced: false } as const;
    for (let ms = 0; ms <= 1000; ms += 100) {
      trio.now += 100;
      trio.tick(0, stopped);
    }
    expect(trio.did("kill")).toContain("a-0-0");
  });
});

describe("a candidate", () => {
  test("is promoted at once when the primary's process is gone", () => {
    const trio = settled();
    trio.tick(0, { ...GATED, phase: "absent", run: "" });
    trio.tick(2, replicaSight(2, ORPHAN));
    trio.tick(1, replicaSight(1, ORPHAN));
    expect(trio.did("promote")).toEqual(["a-0-1"]);
  });

  test("waits for the lease to run out when the primary is only out of reach", () => {
    const trio = settled();
    trio.cut.add("a-0-0");
    const tickBoth = (): void => {
      trio.now += 100;
      trio.tick(2, replicaSight(2, ORPHAN));
      trio.tick(1, replicaSight(1, ORPHAN));
    };
    for (let ms = 0; ms < 2000; ms += 100) tickBoth();
    expect(trio.did("promote")).toEqual([]);
    for (let ms = 0; ms < 2000; ms += 100) tickBoth();
    expect(trio.did("promote")).toEqual(["a-0-1"]);
  });

  test("leaves it to the one that has more, and says so", () => {
    const trio = settled();
    trio.tick(0, { ...GATED, phase: "absent", run: "" });
    trio.tick(2, replicaSight(2, { ...ORPHAN, offset: 101 }));
    trio.tick(1, replicaSight(1, ORPHAN));
    trio.now += 200;
    trio.tick(1, replicaSight(1, ORPHAN));
    expect(trio.states[1] === undefined ? [] : holdsOf(trio.states[1]).map(({ name }) => name)).toEqual([
      "copy-may-lead",
    ]);
    trio.tick(2, replicaSight(2, { ...ORPHAN, offset: 101 }));
    expect(trio.did("promote")).toEqual(["a-0-2"]);
  });

  test("counts only what the others said after its primary was lost", () => {
    const trio = new Trio();
    const blank = { ...PRIMARY, hasData: false, dataEpoch: 0, offset: 0, tableEpoch: 0, wasPrimary: false, owners: [] };
    const gated = { ...blank, phase: "gated", role: undefined } as const;
    // At the gate together: the first one has nothing, and says so.
    for (const [member] of MEMBERS.entries()) trio.replace(member, { ...gated, run: `a-0-${member}@1` });
    for (let round = 0; round < 20; round += 1) {
      trio.now += 150;
      for (const [member] of MEMBERS.entries()) trio.tick(member, { ...gated, run: `a-0-${member}@1` });
    }
    // Then it is given slots, and the second is made its replica and has not synced yet.
    trio.cut.add("a-0-0");
    const orphan = { ...blank, role: "replica", run: "a-0-1@1", linkUp: false, offset: 1 } as const;
    for (let round = 0; round < 3; round += 1) {
      trio.now += 50;
      trio.tick(1, orphan);
    }
    expect(trio.did("promote")).toEqual([]);
    expect(trio.states[1] === undefined ? [] : holdsOf(trio.states[1]).map(({ name }) => name)).toEqual([
      "copy-may-lead",
    ]);
  });

  test("waits for a member of the set that has not spoken", () => {
    const trio = settled();
    trio.tick(0, { ...GATED, phase: "absent", run: "" });
    trio.cut.add("a-0-2");
    trio.tick(1, replicaSight(1, ORPHAN));
    expect(trio.did("promote")).toEqual([]);
    trio.feed(1, { kind: "sightings", lost: ["a-0-2"], stopped: [] });
    trio.now += 200;
    trio.tick(1, replicaSight(1, ORPHAN));
    expect(trio.did("promote")).toEqual(["a-0-1"]);
  });
});

describe("the gate", () => {
  test("stays shut until all have spoken, and then opens for the newest copy", () => {
    const trio = new Trio();
    trio.cut.add("a-0-2");
    trio.tick(1, { ...GATED, run: "a-0-1@2", wasPrimary: false, offset: 90 });
    trio.tick(0, GATED);
    expect(trio.did("open-gate")).toEqual([]);
    trio.cut.clear();
    trio.tick(2, { ...GATED, run: "a-0-2@2", wasPrimary: false, hasData: false, dataEpoch: 0, offset: 0 });
    trio.now += 200;
    trio.tick(1, { ...GATED, run: "a-0-1@2", wasPrimary: false, offset: 90 });
    expect(trio.did("open-gate")).toEqual([]);
    trio.tick(0, GATED);
    expect(trio.done.filter((output) => output.do === "open-gate")).toEqual([
      { do: "open-gate", as: "primary", of: undefined, led: false, by: "a-0-0" },
    ]);
  });

  test("opens at once beside a primary that holds the lease", () => {
    const trio = settled();
    trio.tick(2, { ...GATED, run: "a-0-2@2", wasPrimary: false, hasData: false, dataEpoch: 0, offset: 0 });
    expect(trio.done.filter((output) => output.do === "open-gate")).toEqual([
      { do: "open-gate", as: "replica", of: "a-0-0", led: true, by: "a-0-2" },
    ]);
  });
});

describe("a handover", () => {
  const later = { ...PRIMARY, offset: 105 };

  test("waits until writes are refused and the successor has everything", () => {
    const trio = settled();
    trio.feed(0, { kind: "leave" });
    trio.tick(0, { ...PRIMARY, fenced: false });
    trio.now += 10;
    trio.tick(0, { ...later, fenced: false });
    expect(trio.did("fence")).toContain("a-0-0");
    trio.tick(0, later);
    expect(trio.did("promote")).toEqual([]);
    const successor = trio.states[0]?.handover.successor === "a-0-2" ? 2 : 1;
    trio.tick(successor, replicaSight(successor, { offset: 105 }));
    trio.now += 200;
    trio.tick(0, later);
    expect(trio.did("promote")).toEqual([`a-0-${successor}`]);
    trio.tick(0, replicaSight(0, { run: "a-0-0@1" }));
    expect(trio.done.find((output) => output.do === "end-handover")).toMatchObject({ result: "handed-over" });
  });

  test("lets nobody wait for a replica that does not get the stream of writes yet, unless it never will", () => {
    const trio = settled();
    for (const replica of [1, 2]) trio.tick(replica, replicaSight(replica, { offset: 90 }));
    const fences = () => trio.done.filter((output) => output.do === "fence" && output.by === "a-0-0").length;
    const before = fences();
    trio.feed(0, { kind: "leave" });
    const began = trio.now;
    for (; trio.now - began < RULES.timing.streamingMs; trio.now += 200) trio.tick(0, { ...later, fenced: false });
    expect([trio.states[0]?.handover.stage, fences()]).toEqual(["choosing", before]);
    trio.tick(0, { ...later, fenced: false });
    expect(trio.states[0]?.handover.stage).toBe("catching-up");
    expect(fences()).toBeGreaterThan(before);
  });
});
