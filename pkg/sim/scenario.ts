/** What a seed stands for: the shape of a deployment and a few faults, near each other in time more often than not. */
import { type Channels, endOf, type Fault, type Link } from "./fault.ts";
import { PLOTS, type Plot, suspended } from "./plots.ts";
import { Random } from "./random.ts";
import type { DiskAfter } from "./server.ts";
import type { Shape } from "./world.ts";

export interface Scenario {
  readonly seed: number;
  readonly shape: Shape;
  readonly faults: readonly Fault[];
}

const DISKS: readonly [DiskAfter, ...DiskAfter[]] = ["current", "old", "empty"];
const BOTH: Channels = ["agents", "bus"];
type Kinds = readonly [Fault["kind"], ...Fault["kind"][]];

/** Faults of a few kinds meet more often than those of all kinds would. */
const THEMES: readonly [Kinds, ...Kinds[]] = [
  ["crash", "pod", "machine", "delete", "agent", "freeze-server", "freeze-machine", "cut", "links", "slow"],
  ["crash", "pod", "machine", "delete", "agent", "freeze-server", "freeze-machine", "cut", "links", "slow"],
  ["cut"],
  ["cut", "crash", "links"],
  ["links", "crash", "pod"],
  ["agent", "cut"],
  ["pod", "cut"],
  ["delete", "cut", "agent"],
  ["delete", "slow"],
  ["crash", "delete", "all-servers"],
  ["all-servers", "all-pods", "crash", "machine"],
  ["freeze-machine", "freeze-server", "cut"],
];
const MOST_FAULTS = 4;
/** Of so many seeds one suspends the cluster. */
const SUSPENDED_EVERY = 16;

export function scenarioOf(seed: number): Scenario {
  const random = new Random(seed);
  const shape: Shape = {
    shards: 3,
    replicas: random.pick([1, 2]),
    drift: random.pick([0, 0.05, 0.05]),
    disk: random.pick(DISKS),
    flushEarly: random.once(2),
    lagRounds: random.pick([1, 1, 5, 30]),
    busyMs: random.pick([0, 0, 300]),
  };
  const faults: Fault[] = [...plotOf(seed, random)(random, shape)];
  const kinds = random.pick(THEMES);
  const count = faults.length === 0 ? 1 + random.below(MOST_FAULTS) : random.pick([0, 0, 1]);
  for (let index = 0; index < count; index += 1) faults.push(makeFault(random, shape, kinds, faults.at(-1)));
  return { seed, shape, faults };
}

function plotOf(seed: number, random: Random): Plot {
  if (seed % SUSPENDED_EVERY === 0) return suspended;
  return random.once(2) ? random.pick(PLOTS) : () => [];
}

function makeFault(random: Random, shape: Shape, kinds: Kinds, previous: Fault | undefined): Fault {
  const count = shape.shards * (1 + shape.replicas);
  const near = previous !== undefined && random.once(2);
  const at = near ? Math.max(1000, previous.at + random.below(2700) - 200) : 2000 + random.below(6000);
  const same = near && "node" in previous && random.once(2);
  const node = same ? previous.node : random.once(3) ? random.below(count) : random.below(shape.shards);
  const forMs = random.once(2) ? 200 + random.below(3000) : 2500 + random.below(6000);
  return MAKERS[random.pick(kinds)](random, { at, node, forMs, count });
}

interface Place {
  readonly at: number;
  readonly node: number;
  readonly forMs: number;
  readonly count: number;
}

type Maker = (random: Random, place: Place) => Fault;

const MAKERS: Readonly<Record<Fault["kind"], Maker>> = {
  crash: (random, { at, node }) => ({ kind: "crash", at, node, disk: random.pick(DISKS) }),
  pod: (random, { at, node, forMs }) => ({ kind: "pod", at, node, forMs: 2000 + forMs, disk: random.pick(DISKS) }),
  machine: (_, { at, node, forMs }) => ({ kind: "machine", at, node, forMs: 9000 + forMs }),
  delete: (random, { at, node }) => ({ kind: "delete", at, node, forMs: 2000 + random.below(3000) }),
  agent: (random, { at, node, forMs }) => {
    return { kind: "agent", at, node, forMs: random.once(3) ? forMs : 200 + random.below(800) };
  },
  "freeze-server": (_, { at, node, forMs }) => ({ kind: "freeze-server", at, node, forMs }),
  "freeze-machine": (_, { at, node, forMs }) => ({ kind: "freeze-machine", at, node, forMs }),
  slow: (_, { at, forMs }) => ({ kind: "slow", at, forMs }),
  cut: makeCut,
  links: makeLinks,
  "all-servers": (random, { at, count }) => ({ kind: "all-servers", at, disks: disksOf(random, count) }),
  "all-pods": (random, { at, count }) => {
    return { kind: "all-pods", at, forMs: 2000 + random.below(4000), disks: disksOf(random, count) };
  },
};

function disksOf(random: Random, count: number): readonly DiskAfter[] {
  const whole = random.once(2);
  return Array.from({ length: count }, () => (whole ? "current" : random.pick(DISKS)));
}

function channelsOf(random: Random): Channels {
  return random.once(4) ? random.pick<Channels>([["agents"], ["bus"]]) : BOTH;
}

function makeCut(random: Random, { at, node, forMs, count }: Place): Fault {
  const mask = random.once(2) ? 1 << node : random.below(1 << count);
  return { kind: "cut", at, forMs, mask, oneWay: random.once(5), channels: channelsOf(random) };
}

function makeLinks(random: Random, { at, node, forMs, count }: Place): Fault {
  const pairs = Array.from({ length: 1 + random.below(2 * count) }, (): Link => {
    const other = random.below(count);
    return random.once(2) ? [node, other] : [other, random.once(2) ? node : random.below(count)];
  });
  return { kind: "links", at, forMs, pairs, channels: channelsOf(random) };
}

export function quietFrom({ faults }: Scenario): number {
  return Math.max(0, ...faults.map(endOf));
}
