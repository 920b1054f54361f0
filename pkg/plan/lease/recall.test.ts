import { describe, expect, test } from "bun:test";
import { NO_CANDIDATE } from "./candidate.ts";
import { type DisregardFacts, disregards } from "./disregard.ts";
import { bornHolder } from "./holder.ts";
import { RULES } from "./rules.ts";
import { DEPLOYMENT, MEMBERS, PRIMARY, replicaSight, Trio } from "./test-agents.ts";

const OPEN = { ...PRIMARY, fenced: false };
const GATED = replicaSight(1, { phase: "gated", role: undefined, linkUp: false, run: "" });

/** The primary has its lease, and the pod of member 1 is replaced. */
function replaced(): Trio {
  const trio = new Trio();
  trio.tick(0, PRIMARY);
  trio.now += 500;
  trio.cut.add("a-0-1");
  trio.tick(0, OPEN);
  trio.cut.clear();
  trio.replace(1, GATED);
  return trio;
}

function live(trio: Trio, ms: number): void {
  for (let passed = 0; passed < ms; passed += 100) {
    trio.now += 100;
    trio.tick(0, OPEN);
    trio.tick(1, GATED);
    trio.tick(2, replicaSight(2));
  }
}

function remembers(trio: Trio, index: number): boolean | undefined {
  return trio.states[index]?.voter.remembers;
}

describe("a voter without memory", () => {
  test("learns at once what was granted when no member counts a grant of its forgotten self", () => {
    const trio = replaced();
    live(trio, 400);
    expect(remembers(trio, 1)).toBe(true);
    expect(trio.states[1]?.voter.shards[0]?.grant?.holder).toBe("a-0-0");
  });

  test("waits until such grants have run out when a member does not answer", () => {
    const trio = replaced();
    trio.cut.add("a-0-0");
    live(trio, 2500);
    expect(remembers(trio, 1)).toBe(false);
    trio.cut.clear();
    live(trio, 200);
    expect(remembers(trio, 1)).toBe(true);
  });

  test("learns at once beside a primary that has just taken its place: its promise to that one counts no more", () => {
    const trio = new Trio();
    for (const index of [1, 2]) trio.tick(index, replicaSight(index));
    trio.tick(0, PRIMARY);
    trio.feed(0, { kind: "leave" });
    const leads = { ...PRIMARY, run: "a-0-1@1", tableEpoch: 2, owners: ["a-0-1"] };
    // Who hands over says so, and is gone as soon as another leads.
    for (let round = 0; round < 10 && trio.did("promote").length === 0; round += 1) {
      trio.now += 100;
      trio.tick(2, replicaSight(2, { offset: 99 }));
      trio.tick(1, replicaSight(1));
      trio.tick(0, PRIMARY);
    }
    expect(trio.did("promote")).toEqual(["a-0-1"]);
    trio.tick(1, leads);
    expect(trio.did("unfence")).toContain("a-0-1");
    trio.replace(0, { ...GATED, run: "" });
    for (let round = 0; round < 4; round += 1) {
      trio.now += 100;
      trio.tick(1, { ...leads, fenced: false });
      trio.tick(0, { ...GATED, run: "" });
      trio.tick(2, replicaSight(2, { owners: ["a-0-1"], tableEpoch: 2 }));
    }
    expect(remembers(trio, 0)).toBe(true);
    expect(trio.states[0]?.voter.shards[0]?.grant?.holder).toBe("a-0-1");
  });

  test("learns at once in a deployment that begins: nobody has a lease", () => {
    const trio = new Trio();
    const gated = MEMBERS.map(({ node }) => ({ ...GATED, owners: [], run: node }));
    gated.forEach((server, index) => trio.replace(index, server));
    for (let round = 0; round < 3; round += 1) {
      gated.forEach((server, index) => trio.tick(index, server));
      trio.now += 150;
    }
    expect([0, 1, 2].map((index) => remembers(trio, index))).toEqual([true, true, true]);
  });
});

describe("a member forgets an earlier boot of a voter", () => {
  const lost = new Set<string>();
  const [self] = MEMBERS;
  if (self === undefined) throw new Error("no member");
  const context = {
    self: { ...self, boot: "b" },
    deployment: DEPLOYMENT,
    rules: RULES,
    now: 1000,
    server: OPEN,
    lost,
    stopped: lost,
    leaving: false,
  };
  const round = {
    seq: 7,
    sentAt: 900,
    inSync: { version: 1, members: [] },
    asked: MEMBERS.map(({ node }) => node),
    grantedBy: ["a-0-0", "a-0-2"],
  };
  const holder = { ...bornHolder(OPEN.run, 2300), rounds: [round] };
  const known = { boot: "new", provenSeq: 8, claimSeq: -1, run: "", runSince: 0 };
  const facts: DisregardFacts = { context, holder, candidate: NO_CANDIDATE, voter: "a-0-1", boot: "new", known };

  test("when its lease rests on others and none of its answers can be on its way", () => {
    expect(disregards(facts)).toBe(true);
  });

  test("not while its lease rests on it, or did and writes are not refused yet", () => {
    const rests = { ...holder, rounds: [{ ...round, grantedBy: ["a-0-0", "a-0-1"] }] };
    expect(disregards({ ...facts, holder: rests })).toBe(false);
    const late = { ...context, now: 2400 };
    expect(disregards({ ...facts, context: late, holder: rests })).toBe(false);
    expect(disregards({ ...facts, context: { ...late, server: PRIMARY }, holder: rests })).toBe(true);
  });

  test("not while an answer to the last claim may be on its way", () => {
    expect(disregards({ ...facts, known: { ...known, provenSeq: 6 } })).toBe(false);
    expect(disregards({ ...facts, known: { ...known, boot: "old" } })).toBe(false);
    expect(disregards({ ...facts, known: undefined })).toBe(false);
  });

  test("not during an election", () => {
    for (const during of [{ askingSince: 1 }, { begunAt: 1 }, { electionUntil: 1 }])
      expect(disregards({ ...facts, candidate: { ...NO_CANDIDATE, ...during } })).toBe(false);
  });
});
