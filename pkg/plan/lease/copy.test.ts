import { describe, expect, test } from "bun:test";
import { assert, boolean, nat, pre, property, record } from "fast-check";
import { standingOf } from "./context.ts";
import { isNewer, RANKS, type Standing } from "./copy.ts";
import { meet } from "./correspondents.ts";
import { laterMemory } from "./memory.ts";
import type { AskStanding, Release, TellStanding } from "./message.ts";
import { RULES } from "./rules.ts";
import { DEPLOYMENT, PRIMARY } from "./test-agents.ts";

const self = { node: "a-0-0", shard: 0, member: 0, boot: "b" };
const base = standingOf(
  {
    self,
    deployment: DEPLOYMENT,
    rules: RULES,
    now: 0,
    server: PRIMARY,
    lost: new Set(),
    stopped: new Set(),
    leaving: false,
  },
  false,
);
const copies = record({
  hasData: boolean(),
  dataEpoch: nat(3),
  offset: nat(3),
  primary: boolean(),
  member: nat(4),
}).map((some): Standing => ({ ...base, ...some }));

describe("copies", () => {
  test("of two members exactly one is newer", () => {
    assert(
      property(copies, copies, (a, b) => {
        pre(a.member !== b.member);
        expect(isNewer(RANKS, a, b)).toBe(!isNewer(RANKS, b, a));
      }),
    );
  });

  test("an empty one is never newer than one with data", () => {
    assert(
      property(copies, copies, (a, b) => {
        expect(isNewer(RANKS, { ...a, hasData: false }, { ...b, hasData: true })).toBe(false);
      }),
    );
  });

  test("newer than newer is newer", () => {
    assert(
      property(copies, copies, copies, (a, b, c) => {
        pre(isNewer(RANKS, a, b) && isNewer(RANKS, b, c));
        expect(isNewer(RANKS, a, c)).toBe(true);
      }),
    );
  });
});

test("the later memory is that of the higher epoch, then of the higher version", () => {
  const old = { epoch: 1, inSync: { version: 9, members: [] } };
  const later = { epoch: 2, inSync: { version: 1, members: [] } };
  expect(laterMemory(old, later)).toBe(later);
  expect(laterMemory({ ...later, inSync: { version: 2, members: [] } }, later).inSync.version).toBe(2);
});

describe("boots of other agents", () => {
  const envelope = { from: "x", to: "y", run: "", shard: 0, epoch: 1 };
  const claim = (boot: string, seq: number): Release => {
    return { ...envelope, kind: "release", boot, seq, successor: undefined, offset: 0, stopped: true };
  };
  const answer = (boot: string, seq: number): TellStanding => {
    return { ...envelope, kind: "standing", boot, seq, askedBy: "y#1", standing: base };
  };

  test("a claim that was overtaken counts for nothing", () => {
    const { known } = meet({}, claim("x#1", 5), 0);
    if (known === undefined) throw new Error("the first claim counts");
    expect(meet(known, claim("x#1", 4), 0)).toEqual({ known: undefined, prove: false });
  });

  test("a claim of another boot counts only once that boot has answered", () => {
    const first = meet({}, claim("x#1", 5), 0).known ?? {};
    expect(meet(first, claim("x#2", 1), 0)).toEqual({ known: undefined, prove: true });
    const proven = meet(first, answer("x#2", 7), 0).known ?? {};
    expect(meet(proven, claim("x#2", 1), 0).known).toBeDefined();
    expect(meet(proven, claim("x#1", 6), 0)).toEqual({ known: undefined, prove: true });
    expect(meet(proven, answer("x#1", 6), 0)).toEqual({ known: undefined, prove: false });
  });

  test("a question is answered whoever asks", () => {
    const asked: AskStanding = { ...envelope, kind: "ask-standing", boot: "x#9", seq: 1 };
    const first = meet({}, claim("x#1", 5), 0).known ?? {};
    expect(meet(first, asked, 0).known).toBe(first);
  });
});
