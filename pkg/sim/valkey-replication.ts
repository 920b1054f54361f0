/** Replication: asynchronous, with partial and full syncs; a full sync throws away what the replica had. */
import type { Node } from "./node.ts";
import type { Server } from "./server.ts";
import type { World } from "./world.ts";
import { sharedLength } from "./writes.ts";

const LINK_TIMEOUT_MS = 1000;

/** Takes one write if it may. A client is on every side of every cut and knows every node, so nothing writable is missed. */
export function takeWrite(world: World, node: Node): void {
  if (!world.isWritable(node)) return;
  node.server.log.push(world.writes.acknowledge(node, world.now));
}

/** What a primary took before the last round reaches its replicas in this one. */
export function replicate(world: World, node: Node): void {
  const { server } = node;
  if (server.role === "primary") {
    noteWaited(world, node);
    server.sentLength = server.log.length;
    return;
  }
  const primary = world.node(server.primary);
  if (primary === undefined || primary === node) return;
  if (server.linkUp) stream(world, node, primary);
  else if (server.sync !== undefined) continueSync(world, node, primary);
  else beginSync(world, node, primary);
}

/** Both ends run, know their roles and reach each other. */
function linked(world: World, node: Node, primary: Node): boolean {
  return primary.serverRuns && primary.server.role === "primary" && reaches(world, node, primary);
}

function reaches(world: World, node: Node, primary: Node): boolean {
  return world.network.connects("bus", node.index, primary.index);
}

function stream(world: World, node: Node, primary: Node): void {
  const { server } = node;
  if (linked(world, node, primary) && primary.server.run === server.linkRun) {
    receive(world, node, primary);
    return;
  }
  // An end that is closed is seen at once; one that is silent, after a while.
  const closed = reaches(world, node, primary) && !stillThere(primary, server.linkRun);
  if (!closed && world.now - server.heardPrimaryAt <= LINK_TIMEOUT_MS) return;
  server.linkUp = false;
  // A primary that is out of reach does not see that its replica has given up: it only hears nothing more of it.
  if (reaches(world, node, primary)) primary.server.acks.delete(node.index);
}

function receive(world: World, node: Node, primary: Node): void {
  if (world.network.isSlow && !world.random.once(4)) return;
  const { server } = node;
  server.heardPrimaryAt = world.now;
  if (world.rounds % world.shape.lagRounds !== 0) return;
  if (server.eras.at(-1)?.epoch !== primary.server.eras.at(-1)?.epoch) takeHistory(server, primary.server);
  const to = Math.max(server.log.length, primary.server.sentLength);
  for (let index = server.log.length; index < to; index += 1) server.log.push(primary.server.log[index] ?? -1);
  primary.server.acks.set(node.index, { at: world.now, length: server.log.length, run: server.run });
}

function stillThere(primary: Node, run: number): boolean {
  const { server } = primary;
  return !primary.gone && server.phase === "running" && server.run === run && server.role === "primary";
}

function beginSync(world: World, node: Node, primary: Node): void {
  if (!linked(world, node, primary)) return;
  const { server } = node;
  const shared = sharedLength(server.log, primary.server.log);
  server.linkRun = primary.server.run;
  if (shared === server.log.length && shared > 0) {
    establish(world, node, primary);
    return;
  }
  server.sync = { doneAt: world.now + 150 + world.random.below(1500), fromRun: primary.server.run };
  if (world.shape.flushEarly) discard(world, node, primary);
}

function continueSync(world: World, node: Node, primary: Node): void {
  const { server } = node;
  if (!linked(world, node, primary) || primary.server.run !== server.sync?.fromRun) {
    server.sync = undefined;
    return;
  }
  if (world.now < server.sync.doneAt) return;
  discard(world, node, primary);
  server.log = primary.server.log.slice();
  server.sync = undefined;
  world.log(`${node.name} has synced with ${primary.name}: ${server.log.length} writes`);
  establish(world, node, primary);
}

function establish(world: World, node: Node, primary: Node): void {
  const { server } = node;
  server.linkUp = true;
  server.heardPrimaryAt = world.now;
  takeHistory(server, primary.server);
}

function takeHistory(server: Server, primary: Server): void {
  server.eras = primary.eras.slice();
}

/** The replica's own data goes: what its primary has not is lost here. */
function discard(world: World, node: Node, primary: Node): void {
  world.watch.discarding(node, primary);
  node.server.log = [];
  node.server.eras = [];
}

/** A client that waited for all replicas has its answer when each of them has acknowledged. */
function noteWaited(world: World, node: Node): void {
  const { server } = node;
  if (server.acks.size < world.shape.replicas) return;
  let least = server.log.length;
  for (const ack of server.acks.values()) least = Math.min(least, ack.length);
  for (let index = least - 1; index >= 0; index -= 1) {
    const id = server.log[index] ?? 0;
    if (world.writes.waited[id] === true || world.writes.node[id] !== node.index) return;
    world.writes.waited[id] = true;
  }
}
