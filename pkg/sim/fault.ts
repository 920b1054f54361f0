/** What can go wrong, as plain data, so that a scenario can be printed, shrunk and played again. */
import { deletePod, killAgent, loseForGood, removePod, returnPod } from "./kubelet.ts";
import type { Channel } from "./network.ts";
import type { Node } from "./node.ts";
import type { DiskAfter } from "./server.ts";
import type { World } from "./world.ts";

interface OfNode {
  readonly at: number;
  readonly node: number;
}

interface ForAWhile {
  readonly at: number;
  readonly forMs: number;
}

export type NodeFault =
  /** The server's process dies. */
  | (OfNode & { readonly kind: "crash"; readonly disk: DiskAfter })
  /** The pod goes without notice, and comes back with its disk as it is then. */
  | (OfNode & ForAWhile & { readonly kind: "pod"; readonly disk: DiskAfter })
  /** The machine goes for good; after a while a new, empty pod takes its place. */
  | (OfNode & ForAWhile & { readonly kind: "machine" })
  /** The pod is deleted with grace. */
  | (OfNode & ForAWhile & { readonly kind: "delete" })
  | (OfNode & ForAWhile & { readonly kind: "agent" })
  | (OfNode & ForAWhile & { readonly kind: "freeze-server" })
  | (OfNode & ForAWhile & { readonly kind: "freeze-machine" });

export type NetworkFault =
  /** Nodes of the mask on one side, the others on the other; one way: only what leaves the mask is lost. */
  | (ForAWhile & { readonly kind: "cut"; readonly mask: number; readonly oneWay: boolean; readonly channels: Channels })
  /** Some links, each one way. */
  | (ForAWhile & { readonly kind: "links"; readonly pairs: readonly Link[]; readonly channels: Channels })
  | (ForAWhile & { readonly kind: "slow" });

export type EverybodyFault =
  | { readonly kind: "all-servers"; readonly at: number; readonly disks: readonly DiskAfter[] }
  | (ForAWhile & { readonly kind: "all-pods"; readonly disks: readonly DiskAfter[] });

export type Fault = NodeFault | NetworkFault | EverybodyFault;
export type Link = readonly [from: number, to: number];
export type Channels = readonly Channel[];

/** When a fault is over by itself; what it set off may take longer. */
export function endOf(fault: Fault): number {
  return "forMs" in fault ? fault.at + fault.forMs : fault.at;
}

export function inject(world: World, fault: Fault): void {
  world.events.after(fault.at - world.now, () => {
    world.log(`FAULT ${JSON.stringify(fault)}`);
    if (fault.kind !== "delete") world.watch.fault(world.now);
    begin(world, fault);
  });
}

function begin(world: World, fault: Fault): void {
  if ("node" in fault) {
    const node = world.node(fault.node);
    if (node !== undefined) beginAt(world, node, fault);
  } else if ("disks" in fault) beginEverywhere(world, fault);
  else beginOnNetwork(world, fault);
}

function beginEverywhere(world: World, fault: EverybodyFault): void {
  for (const node of world.nodes) {
    const disk = fault.disks[node.index] ?? "current";
    if (fault.kind === "all-servers") crash(world, node, disk);
    else {
      removePod(world, node, disk);
      world.events.after(fault.forMs + world.random.below(2000), () => returnPod(world, node));
    }
  }
}

function beginAt(world: World, node: Node, fault: NodeFault): void {
  switch (fault.kind) {
    case "crash":
      crash(world, node, fault.disk);
      return;
    case "pod":
      removePod(world, node, fault.disk);
      world.events.after(fault.forMs, () => returnPod(world, node));
      return;
    case "machine":
      loseForGood(world, node);
      world.events.after(fault.forMs, () => returnPod(world, node));
      return;
    case "delete":
      deletePod(world, node, fault.forMs);
      return;
    case "agent":
      killAgent(world, node, fault.forMs);
      return;
    case "freeze-server":
      freezeServer(world, node, fault.forMs);
      return;
    case "freeze-machine":
      freezeMachine(world, node, fault.forMs);
  }
}

function crash(world: World, node: Node, disk: DiskAfter): void {
  if (!node.gone && node.server.phase === "running") world.endServer(node, disk);
}

function freezeMachine(world: World, node: Node, forMs: number): void {
  if (node.gone || node.frozen) return;
  node.frozen = true;
  world.events.after(forMs, () => {
    node.frozen = false;
    thawed(world, node);
  });
}

function freezeServer(world: World, node: Node, forMs: number): void {
  const { server } = node;
  if (!server.answers) return;
  const { run } = server;
  server.frozen = true;
  world.events.after(forMs, () => {
    if (server.run !== run || !server.frozen) return;
    server.frozen = false;
    thawed(world, node);
  });
}

function thawed(world: World, node: Node): void {
  world.log(`${node.name} thaws`);
  node.thawedAt = world.now;
  world.watch.fault(world.now);
}

function beginOnNetwork(world: World, fault: NetworkFault): void {
  const heal = breakNetwork(world, fault);
  if (fault.kind === "slow") world.watch.fault(world.now, world.now + fault.forMs + 3000);
  world.events.after(fault.forMs, () => {
    world.log(`${fault.kind} is over`);
    heal();
  });
}

function breakNetwork(world: World, fault: NetworkFault): () => void {
  switch (fault.kind) {
    case "slow":
      return world.network.slowDown();
    case "cut": {
      const inside = (index: number): boolean => ((fault.mask >> index) & 1) === 1;
      const between = (from: number, to: number): boolean =>
        fault.oneWay ? inside(from) && !inside(to) : inside(from) !== inside(to);
      return world.network.cut({ channels: fault.channels, between });
    }
    case "links": {
      const keys = new Set(fault.pairs.map(([from, to]) => from * 64 + to));
      return world.network.cut({ channels: fault.channels, between: (from, to) => keys.has(from * 64 + to) });
    }
  }
}
