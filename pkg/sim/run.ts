/** Plays a scenario to its end and tells what was broken. */
import { inject } from "./fault.ts";
import { quietFrom, type Scenario } from "./scenario.ts";
import type { Violation } from "./watch.ts";
import { type Played, World } from "./world.ts";

export interface Outcome {
  readonly scenario: Scenario;
  readonly violations: readonly Violation[];
  readonly lostWithinPromise: number;
  readonly acknowledged: number;
  readonly trace: readonly string[];
  readonly endedAt: number;
}

/** After the last fault is over, every shard must take writes within this time. */
const HEAL_MS = 30_000;
/** All must have been well for so long before a run is ended early. */
const CALM_MS = 1500;

export function play(scenario: Scenario, rules: Played, traced = false): Outcome {
  const world = new World({ seed: scenario.seed, shape: scenario.shape, rules, traced });
  for (const fault of scenario.faults) inject(world, fault);
  const quiet = quietFrom(scenario) + 4000;
  const end = quiet + HEAL_MS;
  let calmSince = quiet;
  while (world.events.next(end)) {
    world.watch.checkWriters();
    if (world.watch.violations.length > 0) break;
    if (world.now < quiet || !isCalm(world)) calmSince = Math.max(world.now, quiet);
    else if (world.now - calmSince > CALM_MS) break;
  }
  if (world.watch.violations.length === 0) world.watch.checkEnd();
  const { violations, lostWithinPromise } = world.watch;
  const acknowledged = world.writes.at.length;
  return { scenario, violations, lostWithinPromise, acknowledged, trace: world.trace, endedAt: world.now };
}

/** Every pod is there, and every server runs, as the one primary of its shard or in sync with it. */
function isCalm(world: World): boolean {
  return world.nodes.every((node) => {
    const { server } = node;
    if (node.gone || !node.serverRuns || !node.agent.up) return false;
    return server.role === "primary" ? world.isWritable(node) : server.linkUp;
  });
}
