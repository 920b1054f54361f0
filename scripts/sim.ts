/**
 * npm run sim                                  500 seeds of the agents' rules in the simulator
 * npm run sim -- --seeds N [--from S]          that many, from that one on
 * npm run sim -- --seed S [--trace]            one seed; with --trace, everything that happened
 * npm run sim -- --mutation NAME ...           the same with a planted bug; --mutation list names them
 * npm run sim -- --mutations [--seeds N]       every planted bug, each within so many seeds
 *
 * A failing seed is printed with its scenario made small. See docs/decisions/0012-write-lease-simulated.md.
 */
import { parseArgs } from "node:util";
import { RULES } from "../pkg/plan/lease/rules.ts";
import { MUTATIONS } from "../pkg/sim/mutations.ts";
import { type Outcome, play } from "../pkg/sim/run.ts";
import { scenarioOf } from "../pkg/sim/scenario.ts";
import { shrink } from "../pkg/sim/shrink.ts";
import type { Played } from "../pkg/sim/world.ts";
import { main, seconds, Trouble } from "./lib.ts";

const MOST_SHOWN = 5;

function rulesOf(name: string | undefined): Played {
  if (name === undefined) return RULES;
  const found = MUTATIONS.find((mutation) => mutation.name === name);
  if (found !== undefined) return found.rules;
  const known = MUTATIONS.map((mutation) => `  ${mutation.name}: ${mutation.bug}`).join("\n");
  throw new Trouble(`the planted bugs are:\n${known}`);
}

function wholeNumber(text: string, option: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0) throw new Trouble(`--${option} takes a whole number, not ${text}`);
  return value;
}

function show(outcome: Outcome): void {
  const { scenario, violations } = outcome;
  for (const { name, at, what } of violations) console.log(`  ${Math.round(at)} ms: ${name}: ${what}`);
  console.log(`  ${JSON.stringify(scenario.shape)}`);
  for (const fault of scenario.faults) console.log(`  ${JSON.stringify(fault)}`);
}

function one(seed: number, rules: Played, traced: boolean): number {
  const outcome = play(scenarioOf(seed), rules, traced);
  for (const line of outcome.trace) console.log(line);
  const { acknowledged, lostWithinPromise, violations } = outcome;
  console.log(`seed ${seed}: ${acknowledged} writes, ${lostWithinPromise} lost within what is promised`);
  show(outcome);
  return violations.length === 0 ? 0 : 1;
}

function many(from: number, count: number, rules: Played): number {
  const began = performance.now();
  const sums = { failed: 0, acknowledged: 0, lost: 0 };
  for (let seed = from; seed < from + count; seed += 1) {
    const outcome = play(scenarioOf(seed), rules);
    sums.acknowledged += outcome.acknowledged;
    sums.lost += outcome.lostWithinPromise;
    if (outcome.violations.length === 0) continue;
    sums.failed += 1;
    if (sums.failed > MOST_SHOWN) continue;
    console.log(`seed ${seed} fails; made small:`);
    show(play(shrink(outcome.scenario, rules), rules));
  }
  const took = performance.now() - began;
  console.log(
    `${count} seeds, ${sums.failed} failed, in ${seconds(took)}; ${sums.acknowledged} writes acknowledged, ${sums.lost} lost within what is promised`,
  );
  return sums.failed === 0 ? 0 : 1;
}

function everyMutation(from: number, count: number): number {
  let missed = 0;
  for (const { name, bug, rules } of MUTATIONS) {
    let caught: string | undefined;
    for (let seed = from; seed < from + count && caught === undefined; seed += 1) {
      const [violation] = play(scenarioOf(seed), rules).violations;
      if (violation !== undefined) caught = `seed ${seed}: ${violation.name}`;
    }
    if (caught === undefined) missed += 1;
    console.log(`${name.padEnd(32)}${caught ?? "NOT FOUND"}  (${bug})`);
  }
  return missed === 0 ? 0 : 1;
}

async function simMain(): Promise<number> {
  const { values } = parseArgs({
    options: {
      seeds: { type: "string", default: "500" },
      from: { type: "string", default: "1" },
      seed: { type: "string" },
      trace: { type: "boolean", default: false },
      mutation: { type: "string" },
      mutations: { type: "boolean", default: false },
    },
  });
  const from = wholeNumber(values.from, "from");
  const count = wholeNumber(values.seeds, "seeds");
  if (values.mutations) return everyMutation(from, count);
  const rules = rulesOf(values.mutation);
  if (values.seed !== undefined) return one(wholeNumber(values.seed, "seed"), rules, values.trace);
  return many(from, count, rules);
}

await main(simMain, import.meta.path);
