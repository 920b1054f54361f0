/** Who of the candidates may go, and what keeps the others. */
import { type Demand, firstUnmet } from "../lease/demand.ts";
import type { Hold } from "../lifecycle/hold.ts";
import type { Candidate } from "./candidate.ts";
import type { StepFacts } from "./demands.ts";
import type { RolloutView } from "./view.ts";

export interface Judged {
  readonly taken: readonly Candidate[];
  readonly refused: readonly Candidate[];
  readonly holds: readonly Hold[];
}

/** Not met for one, they are met for none that comes after it: nobody else is judged. */
const OF_ALL: ReadonlySet<string> = new Set([
  "no-downgrade",
  "settings-accepted",
  "window-open",
  "no-failover-under-way",
  "shards-at-once",
]);

/** In order, so that each knows what was decided before it. */
export function judge(
  candidates: readonly Candidate[],
  demands: readonly Demand<StepFacts>[],
  view: RolloutView,
): Judged {
  const taken: Candidate[] = [];
  const refused: Candidate[] = [];
  const holds: Hold[] = [];
  for (const candidate of candidates) {
    const hold = firstUnmet(demands, { ...candidate, view, taken: [...taken] });
    if (hold === undefined) taken.push(candidate);
    else {
      refused.push(candidate);
      holds.push(hold);
      if (OF_ALL.has(hold.name)) break;
    }
  }
  return { taken, refused, holds };
}

const TURNS: ReadonlySet<string> = new Set(["shards-at-once", "first-pod-well"]);

/**
 * Shards that wait for the same reason say it once. That they wait for their turn is no news while another moves, or says
 * itself what it waits for.
 */
export function worthTelling(holds: readonly Hold[], moving: boolean): readonly Hold[] {
  const firsts = [...Map.groupBy(holds, ({ name }) => name).values()].flatMap((same) => same.slice(0, 1));
  const others = firsts.filter(({ name }) => !TURNS.has(name));
  return moving || others.length > 0 ? others : firsts;
}
