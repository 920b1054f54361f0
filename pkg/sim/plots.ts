/** Courses of events that are rarely met by chance and that a rule exists for, each with its times drawn at random. */
import type { Channels, Fault } from "./fault.ts";
import type { Random } from "./random.ts";
import type { DiskAfter } from "./server.ts";
import type { Shape } from "./world.ts";

export type Plot = (random: Random, shape: Shape) => readonly Fault[];

const BOTH: Channels = ["agents", "bus"];
const OLD_OR_CURRENT: readonly [DiskAfter, ...DiskAfter[]] = ["current", "old"];

function replicaOf(random: Random, shape: Shape, primary: number): number {
  return primary + shape.shards * (1 + random.below(shape.replicas));
}

function countOf({ shards, replicas }: Shape): number {
  return shards * (1 + replicas);
}

function cutOff(node: number, at: number, forMs: number): Fault {
  return { kind: "cut", at, forMs, mask: 1 << node, oneWay: false, channels: BOTH };
}

/** A primary is cut off and comes back just when its successor's election is under way, on a slow network. */
const backDuringElection: Plot = (random, { shards }) => {
  const at = 2000 + random.below(2000);
  const forMs = 2000 + random.below(1500);
  const slow: Fault = { kind: "slow", at: at + 1800, forMs: 3000 };
  return [cutOff(random.below(shards), at, forMs), ...(random.once(3) ? [] : [slow])];
};

/** A primary is cut off and comes back; its successor wins its election and is cut off at that moment. */
const winnerCutOff: Plot = (random, shape) => {
  const primary = random.below(shape.shards);
  const replica = replicaOf(random, shape, primary);
  const at = 2000 + random.below(1000);
  const second = at + 2250 + random.below(600);
  const heal = second - 300 + random.below(600);
  const mask = (1 << replica) | (1 << ((primary + 1) % shape.shards));
  const cut: Fault = { kind: "cut", at: second, forMs: 4000, mask, oneWay: false, channels: BOTH };
  return [cutOff(primary, at, heal - at), cut];
};

/** A replica loses its stream and not its agent; later its primary dies. */
const staleReplica: Plot = (random, shape) => {
  const primary = random.below(shape.shards);
  const replica = replicaOf(random, shape, primary);
  const at = 2000 + random.below(1000);
  const pairs = [[primary, replica] as const, [replica, primary] as const];
  const links: Fault = { kind: "links", at, forMs: 6000 + random.below(2000), pairs, channels: ["bus"] };
  const later = at + 2500 + random.below(2000);
  const death: Fault = random.once(2)
    ? { kind: "crash", at: later, node: primary, disk: random.pick(["current", "old", "empty"]) }
    : cutOff(primary, later, 5000);
  return [links, death];
};

/** An agent dies and stays dead; a while later its machine is cut off, the server with it. */
const unguarded: Plot = (random, { shards }) => {
  const node = random.below(shards);
  const at = 2000 + random.below(2000);
  return [{ kind: "agent", at, node, forMs: 6000 }, cutOff(node, at + 100 + random.below(4000), 5000)];
};

/** A primary is cut off while pods of voters are replaced, which forget what they granted. */
const forgetfulVoters: Plot = (random, shape) => {
  const primary = random.below(shape.shards);
  const at = 2000 + random.below(2000);
  const others = [...Array(countOf(shape)).keys()].filter((index) => index % shape.shards !== primary);
  const gone = others.filter(() => random.once(2)).slice(0, 3);
  const pods = gone.map((node): Fault => {
    return { kind: "pod", at: at + random.below(2500) - 1000, node, forMs: 1000 + random.below(2000), disk: "current" };
  });
  return [cutOff(primary, at, 1500 + random.below(5000)), ...pods];
};

/**
 * A primary is cut off, and comes back when another asks for its lease; in that moment pods of voters are replaced at once,
 * with answers of theirs still on their way.
 */
const forgottenAnswers: Plot = (random, shape) => {
  const primary = random.below(shape.shards);
  const at = 2000 + random.below(1000);
  const asks = at + 2300 + random.below(500);
  const others = [...Array(countOf(shape)).keys()].filter((index) => index % shape.shards !== primary);
  const gone = others.filter(() => random.once(2)).slice(0, 3);
  const pods = gone.map((node): Fault => {
    return { kind: "pod", at: asks + random.below(400) - 100, node, forMs: 20 + random.below(400), disk: "current" };
  });
  const slow: Fault = { kind: "slow", at: asks - 200, forMs: 2000 + random.below(1500) };
  return [cutOff(primary, at, asks - at + random.below(600) - 200), slow, ...pods];
};

/** A primary is replaced, and soon after everything restarts from what its disks hold. */
const restartAfterFailover: Plot = (random, shape) => {
  const primary = random.below(shape.shards);
  const at = 2000 + random.below(1500);
  const first: Fault = random.once(2)
    ? cutOff(primary, at, 3000 + random.below(1000))
    : { kind: "crash", at, node: primary, disk: "current" };
  const disks = Array.from({ length: countOf(shape) }, () => random.pick(OLD_OR_CURRENT));
  return [first, { kind: "all-servers", at: at + 500 + random.below(4500), disks }];
};

/** A replaced primary, with writes that nobody else has, knows of its successor and has not synced; all restart. */
const restartBeforeSync: Plot = (random, shape) => {
  const at = 2000 + random.below(1500);
  const forMs = 2400 + random.below(500);
  const disks = Array.from({ length: countOf(shape) }, () => "current" as const);
  return [
    cutOff(random.below(shape.shards), at, forMs),
    { kind: "all-servers", at: at + forMs + random.below(800), disks },
  ];
};

/** A replaced primary and the new one meet on the small side of a cut, and the new one's server restarts there. */
const togetherInMinority: Plot = (random, shape) => {
  const primary = random.below(shape.shards);
  const replica = replicaOf(random, shape, primary);
  const at = 2000 + random.below(1000);
  const healed = at + 3500 + random.below(500);
  const mask = (1 << primary) | (1 << replica);
  return [
    cutOff(primary, at, healed - at),
    { kind: "cut", at: healed - 100, forMs: 5000, mask, oneWay: false, channels: BOTH },
    { kind: "crash", at: healed - random.below(600), node: replica, disk: "current" },
  ];
};

/** Pods are deleted with grace, one or two of a shard. */
const planned: Plot = (random, shape) => {
  const primary = random.below(shape.shards);
  const at = 2000 + random.below(2000);
  const first: Fault = { kind: "delete", at, node: primary, forMs: 2000 + random.below(2000) };
  if (random.once(2)) return [first];
  return [first, { kind: "delete", at: at + random.below(1500), node: replicaOf(random, shape, primary), forMs: 2500 }];
};

/** Half of the deployment is cut from the other half. */
const halves: Plot = (random, shape) => {
  const nodes = [...Array(countOf(shape)).keys()];
  const order = nodes.map((index) => ({ index, draw: random.below(1000) })).toSorted((a, b) => a.draw - b.draw);
  const mask = order.slice(0, nodes.length >> 1).reduce((sum, { index }) => sum | (1 << index), 0);
  return [
    {
      kind: "cut",
      at: 2000 + random.below(3000),
      forMs: 3000 + random.below(5000),
      mask,
      oneWay: false,
      channels: BOTH,
    },
  ];
};

/** A replica falls out of the set; then whoever could know that is replaced, and the primary is gone for a while. */
const amnesia: Plot = (random, shape) => {
  const primary = random.below(shape.shards);
  const replica = replicaOf(random, shape, primary);
  const at = 2000 + random.below(1000);
  const others = [...Array(countOf(shape)).keys()].filter((index) => index !== primary && index !== replica);
  const death = at + 3000 + random.below(1000);
  const pods = others.map((node): Fault => {
    return {
      kind: "pod",
      at: death + random.below(600) - 500,
      node,
      forMs: 1000 + random.below(1500),
      disk: "current",
    };
  });
  const dies: Fault = { kind: "pod", at: death, node: primary, forMs: 2000 + random.below(6000), disk: "current" };
  return [cutOff(replica, at, death - at + random.below(1500)), dies, ...pods];
};

/**
 * All pods are deleted with grace at once, as when a cluster is suspended, and come back: primaries hand over to replicas
 * that go too. Half of the time a primary has just crashed.
 */
export const suspended: Plot = (random, shape) => {
  const at = 2500 + random.below(2000);
  const spread = random.pick([1, 300, 1500]);
  const crash: Fault = {
    kind: "crash",
    at: at - 1500 + random.below(1500),
    node: random.below(shape.shards),
    disk: "current",
  };
  const pods = [...Array(countOf(shape)).keys()].map((node): Fault => {
    return { kind: "delete", at: at + random.below(spread), node, forMs: 2000 + random.below(4000) };
  });
  return random.once(2) ? pods : [crash, ...pods];
};

export const PLOTS: readonly [Plot, ...Plot[]] = [
  backDuringElection,
  winnerCutOff,
  staleReplica,
  unguarded,
  forgetfulVoters,
  forgottenAnswers,
  restartAfterFailover,
  restartBeforeSync,
  togetherInMinority,
  planned,
  halves,
  amnesia,
];
