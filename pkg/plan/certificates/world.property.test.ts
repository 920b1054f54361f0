/** Nobody is ever refused by somebody of the same cluster, whatever is rotated or lost and however late it arrives. */
import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { World } from "./test-world.ts";

const STEP_MS = 5000;
/** kubelet's refresh of a mounted Secret. */
const LATEST_MOUNT_STEPS = 24;
/** A replica of the operator that reads its Secret later than this has lost its watch and does not serve. */
const LATEST_REPLICA_STEPS = 2;

const CONTROLLERS = ["ca", "bundles", "leaves", "operator"] as const;
const event = fc.constantFrom("nothing", "wish", "lose-intermediate", "new-leader", "restart");
const moment = fc.record({
  event: fc.oneof({ weight: 12, arbitrary: fc.constant("nothing" as const) }, { weight: 1, arbitrary: event }),
  who: fc.nat(4),
  order: fc.shuffledSubarray([...CONTROLLERS], { minLength: 2 }),
  arrive: fc.nat(15),
  push: fc.nat(31),
});
const history = (most: number) => fc.array(moment, { minLength: most / 2, maxLength: most, size: "max" });
type Moment = typeof moment extends fc.Arbitrary<infer T> ? T : never;

class Run {
  readonly world = new World(4);
  readonly #waiting = new Map<string, number>();

  step({ event, who, order, arrive, push }: Moment): void {
    const { world } = this;
    world.now += STEP_MS;
    const agent = world.agents[who % world.agents.length];
    if (event === "wish") world.wish = String(world.now);
    if (event === "lose-intermediate") world.loseIntermediate();
    if (event === "new-leader") world.forgetSights();
    if (event === "restart" && agent !== undefined) world.restart(agent);
    world.reconcile(order, (name) => (push >> Number(name.slice(-1))) % 2 === 1);
    this.#arrivals(arrive);
  }

  #arrivals(bits: number): void {
    const { world } = this;
    for (const [index, process] of [...world.agents, ...world.replicas].entries()) {
      const since = world.isCurrent(process) ? 0 : (this.#waiting.get(process.name) ?? 0) + 1;
      const latest = process.name.startsWith("replica") ? LATEST_REPLICA_STEPS : LATEST_MOUNT_STEPS;
      const adopts = since > 0 && ((bits >> (index % 4)) % 2 === 1 || since >= latest);
      if (adopts) world.adopt(process);
      this.#waiting.set(process.name, adopts ? 0 : since);
    }
  }
}

const quiet: Moment = { event: "nothing", who: 0, order: [...CONTROLLERS], arrive: 0, push: 0 };

function settles(run: Run): void {
  for (let step = 0; step < 400 && !run.world.settled; step += 1) run.step(quiet);
  expect(run.world.settled).toBe(true);
}

test("no agent and no replica ever refuses another, and every rotation comes to its end", () => {
  const property = fc.property(history(150), (moments) => {
    const run = new Run();
    run.world.wish = "first";
    for (const each of moments) {
      run.step(each);
      expect(run.world.refusal()).toBeUndefined();
    }
    settles(run);
    expect(run.world.refusal()).toBeUndefined();
  });
  fc.assert(property, { numRuns: 50, includeErrorInReport: true });
});

test("a lost root is replaced without agents refusing each other, and the operator reaches all again", () => {
  const property = fc.property(history(40), history(80), (before, after) => {
    const run = new Run();
    for (const each of before) run.step(each);
    run.world.loseRoot();
    for (const each of after) {
      run.step(each);
      expect(run.world.refusal()).toBeUndefined();
    }
    settles(run);
    run.world.lost = false;
    expect(run.world.refusal()).toBeUndefined();
  });
  fc.assert(property, { numRuns: 50, includeErrorInReport: true });
});

test("a rotation that is left alone takes minutes", () => {
  const run = new Run();
  for (let step = 0; step < 5; step += 1) run.step(quiet);
  const [before, began] = [run.world.root.thumbprint, run.world.now];
  run.world.wish = "now";
  run.step(quiet);
  settles(run);
  expect(run.world.root.thumbprint).not.toBe(before);
  expect(run.world.now - began).toBeLessThan(15 * 60_000);
});
