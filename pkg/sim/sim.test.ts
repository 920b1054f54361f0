import { describe, expect, test } from "bun:test";
import { RULES } from "../plan/lease/rules.ts";
import type { Fault } from "./fault.ts";
import { MUTATIONS } from "./mutations.ts";
import { play } from "./run.ts";
import { scenarioOf } from "./scenario.ts";
import { shrink } from "./shrink.ts";

const SEEDS = 120;

describe("the rules in the simulator", () => {
  test(`hold in the first ${SEEDS} seeds`, () => {
    let acknowledged = 0;
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const outcome = play(scenarioOf(seed), RULES);
      acknowledged += outcome.acknowledged;
      expect({ seed, violations: outcome.violations }).toEqual({ seed, violations: [] });
    }
    expect(acknowledged).toBeGreaterThan(SEEDS * 500);
  }, 60_000);

  test("hold in seeds that once broke them", () => {
    for (const seed of [10_902, 60_858, 63_406, 64_646, 67_474, 72_875, 74_187, 83_951, 901_612]) {
      expect({ seed, violations: play(scenarioOf(seed), RULES).violations }).toEqual({ seed, violations: [] });
    }
  });

  test("a primary that was outranked by one that wrote nothing leads again", () => {
    const outcome = play(scenarioOf(30_352), RULES, true);
    expect(outcome.trace.some((line) => line.includes("promotes: RAISE"))).toBe(true);
    expect(outcome.violations).toEqual([]);
  });

  test("a seed is played the same every time", () => {
    const first = play(scenarioOf(7), RULES, true);
    expect(first.trace.length).toBeGreaterThan(10);
    expect(play(scenarioOf(7), RULES, true).trace).toEqual(first.trace);
  });

  test("without faults every shard takes writes and none is lost", () => {
    const calm = play({ ...scenarioOf(1), faults: [] }, RULES);
    expect(calm.violations).toEqual([]);
    expect(calm.lostWithinPromise).toBe(0);
    expect(calm.acknowledged).toBeGreaterThan(100);
  });
});

describe("a shard that is away for good", () => {
  const calm = scenarioOf(1);
  const pods = calm.shape.replicas + 1;
  const away = Array.from({ length: pods }, (_, member): Fault => {
    return { kind: "pod", at: 3000, node: 2 + calm.shape.shards * member, forMs: 40_000, disk: "current" };
  });
  const crash: Fault = { kind: "crash", at: 10_000, node: 0, disk: "old" };

  test("does not keep another from a new primary, once it is proven stopped", () => {
    const outcome = play({ ...calm, faults: [...away, crash] }, RULES, true);
    expect(outcome.violations).toEqual([]);
    const took = outcome.trace.find((line) => line.includes("promotes: TAKEOVER"));
    // After the crash, and long before the pods are back.
    expect(Number(took?.trim().split(" ")[0])).toBeWithin(10_000, 15_000);
  });
});

describe("a failing scenario", () => {
  test("is made small and still fails", () => {
    const rules = MUTATIONS.find(({ name }) => name === "no-wait")?.rules ?? RULES;
    const failing = [...Array(50).keys()]
      .map(scenarioOf)
      .find((scenario) => play(scenario, rules).violations.length > 0);
    if (failing === undefined) throw new Error("no seed fails");
    const small = shrink(failing, rules);
    expect(small.faults.length).toBeLessThanOrEqual(failing.faults.length);
    expect(play(small, rules).violations).not.toEqual([]);
  }, 30_000);
});

/** Where each planted bug was first caught. When the simulator changes, others will do: the search begins there. */
const CAUGHT_BY: Readonly<Record<string, number>> = {
  "half-is-enough": 24,
  "no-wait": 5,
  "no-margin": 13,
  "late-fence": 5,
  "short-promise": 438,
  "always-in-sync": 1,
  "renewal-for-anybody": 24,
  "two-holders": 162,
  "consent-beside-holder": 1,
  "consent-without-promise": 281,
  "forgetful-voter": 2,
  "believes-old-sets": 2,
  "unguarded-server": 41,
  "force-without-check": 1,
  "set-not-checked": 1,
  "gate-opened-early": 18,
  "gate-opened-to-all": 18,
  "epoch-of-table": 40,
  "offset-alone": 40,
  "follows-anybody": 25,
  "handover-without-catching-up": 33,
  "winner-without-lease": 315,
  "silence-is-proof": 12,
  "old-word": 191,
};
const MOST_SEEDS = 400;

describe("every planted bug is caught", () => {
  for (const { name, bug, rules } of MUTATIONS) {
    test(`${name}: ${bug}`, () => {
      const first = CAUGHT_BY[name] ?? 1;
      let caught = 0;
      for (let offset = 0; offset < MOST_SEEDS && caught === 0; offset += 1) {
        const seed = first + offset;
        if (play(scenarioOf(seed), rules).violations.length > 0) caught = seed;
      }
      expect(caught).toBeGreaterThan(0);
    }, 60_000);
  }
});
