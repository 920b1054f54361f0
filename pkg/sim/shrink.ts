/** Makes a failing scenario small: fewer faults, each shorter, as long as the same thing still breaks. */
import type { Fault } from "./fault.ts";
import { play } from "./run.ts";
import type { Scenario } from "./scenario.ts";
import type { Played } from "./world.ts";

const SHORTEST_MS = 200;

export function shrink(scenario: Scenario, rules: Played): Scenario {
  const broken = play(scenario, rules).violations[0]?.name;
  if (broken === undefined) return scenario;
  const stillBreaks = (faults: readonly Fault[]): boolean =>
    play({ ...scenario, faults }, rules).violations.some(({ name }) => name === broken);
  let { faults } = scenario;
  for (let smaller = firstSmaller(faults, stillBreaks); smaller !== undefined; ) {
    faults = smaller;
    smaller = firstSmaller(faults, stillBreaks);
  }
  return { ...scenario, faults };
}

function firstSmaller(
  faults: readonly Fault[],
  stillBreaks: (faults: readonly Fault[]) => boolean,
): readonly Fault[] | undefined {
  for (const candidate of candidates(faults)) if (stillBreaks(candidate)) return candidate;
  return undefined;
}

/** Without one of the faults; then with one of them half as long, or all of it a second earlier. */
function* candidates(faults: readonly Fault[]): Generator<readonly Fault[]> {
  for (const index of faults.keys()) yield faults.toSpliced(index, 1);
  for (const [index, fault] of faults.entries()) {
    if (!("forMs" in fault) || fault.forMs <= SHORTEST_MS) continue;
    yield faults.with(index, { ...fault, forMs: Math.max(SHORTEST_MS, Math.floor(fault.forMs / 2)) });
  }
  if (faults.length > 0 && faults.every(({ at }) => at > 2000)) {
    yield faults.map((fault) => ({ ...fault, at: fault.at - 1000 }));
  }
}
