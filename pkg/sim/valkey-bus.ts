/** The cluster bus: who is heard, whose epoch is higher, and votes. */
import type { Node } from "./node.ts";
import type { World } from "./world.ts";

/** `cluster-manual-failover-timeout`, as agents set it. */
const MANUAL_FAILOVER_MS = 1000;

interface VoteRequest {
  readonly epoch: number;
  /** The shard's epoch in the candidate's table. */
  readonly shardEpoch: number;
}

function majority(world: World): number {
  return Math.floor(world.shape.shards / 2) + 1;
}

/** One round of gossip of a node with all that it reaches. */
export function gossip(world: World, node: Node): void {
  if (!node.serverRuns) return;
  for (const other of world.nodes) {
    if (other === node || !other.serverRuns || !world.network.connects("bus", node.index, other.index)) continue;
    if (world.network.isSlow && world.random.once(3)) continue;
    tell(world, node, other);
  }
}

/** A heartbeat: `to` hears of `from`; who has an older table is told of the newer. */
function tell(world: World, from: Node, to: Node): void {
  const a = from.server;
  const b = to.server;
  b.heardAt[from.index] = world.now;
  b.currentEpoch = Math.max(b.currentEpoch, a.currentEpoch);
  for (let shard = 0; shard < world.shape.shards; shard += 1) {
    const owner = a.owners[shard];
    const epoch = a.epochs[shard] ?? 0;
    // A node speaks for itself; of others it speaks only to correct an older table.
    if (owner !== undefined && epoch > (b.epochs[shard] ?? 0)) learn(world, to, shard, { owner, epoch });
  }
}

function learn(world: World, node: Node, shard: number, { owner, epoch }: { owner: number; epoch: number }): void {
  const { server } = node;
  server.owners[shard] = owner;
  server.epochs[shard] = epoch;
  server.currentEpoch = Math.max(server.currentEpoch, epoch);
  if (node.shard !== shard || node.index === owner) return;
  if (server.role === "primary") world.log(`${node.name} becomes a replica of ${world.nameOf(owner)}`);
  if (server.role === "primary" || server.primary !== owner) {
    server.linkUp = false;
    server.sync = undefined;
  }
  server.role = "replica";
  server.primary = owner;
  server.election = undefined;
}

/** Without a majority of the primaries a primary stops by itself, and begins again only a while after it is back. */
export function watchMajority(world: World, node: Node): void {
  const { server } = node;
  const { nodeTimeoutMs } = world.rules.timing;
  const heard = server.owners.filter(
    (owner) => owner === node.index || world.now - (server.heardAt[owner] ?? 0) <= nodeTimeoutMs,
  ).length;
  if (heard < majority(world)) {
    server.inMajority = false;
    server.minoritySince = world.now;
  } else if (!server.inMajority && world.now - server.minoritySince > Math.min(nodeTimeoutMs, 5000)) {
    server.inMajority = true;
  }
}

/** CLUSTER FAILOVER FORCE: answers OK at once; whether it is won shows later. It looks at no data. */
export function forceFailover(world: World, node: Node): void {
  const { server } = node;
  if (server.role !== "replica") return;
  world.watch.electing(node);
  server.currentEpoch += 1;
  const election = { epoch: server.currentEpoch, votes: new Set<number>(), until: world.now + MANUAL_FAILOVER_MS };
  server.election = election;
  world.log(`${node.name} asks for votes for epoch ${election.epoch}`);
  const shardEpoch = server.epochs[node.shard] ?? 0;
  const request: VoteRequest = { epoch: election.epoch, shardEpoch };
  for (const voter of world.nodes) {
    if (voter === node) continue;
    sendOnBus(world, node, voter, () => {
      if (!vote(voter, node.shard, request)) return;
      sendOnBus(world, voter, node, () => countVote(world, node, voter.index, election.epoch));
    });
  }
}

/** CLUSTER FAILOVER TAKEOVER: without a vote, with an epoch above all that it knows. */
export function takeOver(world: World, node: Node): void {
  const { server } = node;
  if (server.role !== "replica") return;
  world.watch.electing(node);
  world.watch.takingOver(node);
  server.currentEpoch = Math.max(server.currentEpoch, ...server.epochs) + 1;
  becomePrimary(world, node, server.currentEpoch);
}

/** CLUSTER BUMPEPOCH of a primary: does nothing when its own epoch is the highest that it knows. */
export function raiseEpoch(world: World, node: Node): void {
  const { server, shard } = node;
  if (server.role !== "primary" || server.epochs[shard] === server.currentEpoch) return;
  world.watch.electing(node);
  server.currentEpoch += 1;
  server.epochs[shard] = server.currentEpoch;
  world.log(`${node.name} raises its epoch to ${server.currentEpoch}`);
}

function sendOnBus(world: World, from: Node, to: Node, arrive: () => void): void {
  if (!world.network.connects("bus", from.index, to.index)) return;
  for (const delay of world.network.delays().slice(0, 1)) {
    const run = to.server.run;
    const deliver = (): void => {
      if (to.gone || to.server.run !== run || to.server.phase !== "running") return;
      if (to.frozen || to.server.frozen) world.events.after(50, deliver);
      else arrive();
    };
    world.events.after(delay + world.random.below(1 + world.shape.busyMs), deliver);
  }
}

function vote(voter: Node, shard: number, request: VoteRequest): boolean {
  const { server } = voter;
  const owns = server.role === "primary" && server.owners[voter.shard] === voter.index;
  if (!owns || request.epoch < server.currentEpoch || server.lastVoteEpoch >= request.epoch) return false;
  if (request.shardEpoch < (server.epochs[shard] ?? 0)) return false;
  server.currentEpoch = request.epoch;
  server.lastVoteEpoch = request.epoch;
  return true;
}

function countVote(world: World, node: Node, voter: number, epoch: number): void {
  const { server } = node;
  const { election } = server;
  if (election?.epoch !== epoch || world.now > election.until || server.role !== "replica") return;
  election.votes.add(voter);
  if (election.votes.size >= majority(world)) becomePrimary(world, node, epoch);
}

export function becomePrimary(world: World, node: Node, epoch: number): void {
  const { server } = node;
  world.log(`${node.name} is primary with epoch ${epoch}, ${server.log.length} writes`);
  world.watch.won(node);
  server.role = "primary";
  server.linkUp = false;
  server.sync = undefined;
  server.election = undefined;
  server.acks.clear();
  server.sentLength = server.log.length;
  server.owners[node.shard] = node.index;
  server.leadsSince = world.now;
  server.epochs[node.shard] = epoch;
  server.writableFrom = 0;
  world.events.after(2 + world.random.below(8 + world.shape.busyMs), () => gossip(world, node));
  world.wakeAgent(node, 1 + world.random.below(4));
}

/** What is written from now on is of the server's own epoch. */
export function beginEra({ server, shard }: Node): void {
  const epoch = server.epochs[shard] ?? 0;
  if (server.role !== "primary" || server.eras.at(-1)?.epoch === epoch) return;
  server.eras.push({ from: server.log.length, epoch });
}
