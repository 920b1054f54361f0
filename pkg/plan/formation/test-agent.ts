/** The simulator's agents as the operator meets them: what they say, and how they take commands. */
import { newerFirst } from "./copy.ts";
import { SLOTS, slotsOfShard } from "./slots.ts";
import type { FormationStep, OwnStep, PromoteStep } from "./step.ts";
import { introduce, ownedBy, owns, type Server } from "./test-server.ts";
import type { Member, World } from "./test-world.ts";
import type { ClusterTable, NodeView } from "./view.ts";

export function stateOf(world: World, member: Member): NodeView | undefined {
  const { pod } = member;
  if (pod === undefined) return undefined;
  const { server, bootId } = pod;
  const applied = { configurationHash: "c", secretsHash: "s" };
  const common = { bootId, version: "9.1.0", waitsFor: "", applied, leaseEpoch: 0 };
  const copy = world.copyOf(member);
  if (server === undefined) {
    const disk = { ...copy, id: member.disk.conf?.id ?? "" };
    const keys = copy.hasData ? 1 : 0;
    return { ...common, phase: "gated", keys, ready: false, cluster: undefined, replication: undefined, disk };
  }
  const replication = { offset: copy.offset, inSync: true, syncing: false };
  const cluster = { ...tableOf(world, server), configEpoch: copy.epoch };
  return { ...common, phase: "running", keys: server.data.size, ready: true, cluster, replication, disk: undefined };
}

function tableOf(world: World, server: Server): ClusterTable {
  const { shards } = world.options;
  const slotsOf = (id: string) => ownedBy(server, id).map((shard) => slotsOfShard(shard, shards));
  const { id, role, primaryId, configEpoch, currentEpoch } = server;
  const nodes = [...server.peers].map(([peer, { ip, role, primaryId, epoch, failed }]) => ({
    id: peer,
    ip,
    role,
    primaryId,
    failed,
    handshake: false,
    configEpoch: epoch,
    slots: slotsOf(peer),
    connected: world.serverAt(ip)?.id === peer,
  }));
  return { id, ok: true, role, primaryId, configEpoch, currentEpoch, slotsAssigned: SLOTS, slots: slotsOf(id), nodes };
}

/** Carries a command out, or refuses it: late and repeated ones meet the same rules. Gives whether it was taken. */
export function command(world: World, member: Member, step: FormationStep): boolean {
  const { pod } = member;
  if (pod === undefined) return false;
  if (step.do === "configure") {
    if (step.bootId === pod.bootId) {
      pod.sightings = new Map(step.sightings.map(({ node, ip, lost }) => [node, { ip, lost }]));
    }
    return true;
  }
  const { server } = pod;
  if (server === undefined || ("nodeId" in step && step.nodeId !== server.id)) return false;
  const done = serve(world, { member, server }, step);
  world.save(member);
  return done;
}

interface Served {
  readonly member: Member;
  readonly server: Server;
}

function serve(world: World, served: Served, step: Exclude<FormationStep, { do: "configure" }>): boolean {
  const { server } = served;
  switch (step.do) {
    case "own":
      return own(world, served, step);
    case "meet":
      return meet(world, server, step.peers);
    case "follow":
      return follow(server, step.primaryId);
    case "promote":
      return promote(world, served, step);
    case "forget":
      for (const id of step.nodeIds) forget(world, server, id);
      return true;
  }
}

/** The agent asks its peers itself: a late command must not make a second owner. */
function own(world: World, { member, server }: Served, { slots, configEpoch }: OwnStep): boolean {
  const { shards } = world.options;
  const shard = Array.from({ length: shards }, (_, index) => index).find(
    (index) => slotsOfShard(index, shards).first === slots[0]?.first,
  );
  if (shard === undefined || server.role === "replica") return false;
  if (server.owners.get(shard) === server.id) return true;
  if (server.owners.has(shard) || server.data.size > 0 || owns(server)) return false;
  const peers = countingPeers(world, member);
  if (peers.some((peer) => peer.pod === undefined || world.copyOf(peer).hasData || world.copyOf(peer).primary))
    return false;
  // SET-CONFIG-EPOCH while it knows nobody, BUMPEPOCH afterwards.
  const seen = [...server.peers.values()].map(({ epoch }) => epoch);
  server.configEpoch = server.peers.size === 0 ? configEpoch : Math.max(server.currentEpoch, ...seen) + 1;
  server.currentEpoch = Math.max(server.currentEpoch, server.configEpoch);
  server.owners.set(shard, server.id);
  return true;
}

function countingPeers(world: World, member: Member): readonly Member[] {
  return world.peersOf(member).filter(({ name }) => member.pod?.sightings.get(name)?.lost !== true);
}

function meet(world: World, server: Server, names: readonly string[]): boolean {
  for (const name of names) {
    const guest = world.members.find((each) => each.name === name)?.pod?.server;
    if (guest !== undefined) introduce(server, guest, world.now);
  }
  return true;
}

function follow(server: Server, primaryId: string): boolean {
  const own = owns(server) || (server.role === "primary" && server.data.size > 0);
  if (own || ownedBy(server, primaryId).length === 0) return false;
  Object.assign(server, { role: "replica", primaryId, fenced: false });
  return true;
}

const FORGOTTEN_MS = 60_000;

function forget(world: World, server: Server, id: string): void {
  const peer = server.peers.get(id);
  if (peer === undefined || !peer.failed || server.primaryId === id) return;
  server.peers.delete(id);
  for (const shard of ownedBy(server, id)) server.owners.delete(shard);
  server.banned.set(id, world.now + FORGOTTEN_MS);
}

/** The agent asks its peers itself: all have to answer or be lost, none may run as a primary or be newer. */
function promote(world: World, { member, server }: Served, { primaryId, withoutVote }: PromoteStep): boolean {
  if (owns(server)) return true;
  if (server.role !== "replica" || server.primaryId !== primaryId) return false;
  const peers = countingPeers(world, member);
  if (peers.some(({ pod }) => pod === undefined)) return false;
  const mine = world.copyOf(member);
  const hindered = peers.some(
    (peer) =>
      (peer.pod?.server?.role === "primary" && owns(peer.pod.server)) || newerFirst(world.copyOf(peer), mine) < 0,
  );
  if (hindered || (!withoutVote && !isElected(world, server))) return false;
  const taken = ownedBy(server, primaryId);
  if (taken.length === 0) return false;
  server.currentEpoch += 1;
  Object.assign(server, { role: "primary", primaryId: "", configEpoch: server.currentEpoch });
  for (const shard of taken) server.owners.set(shard, server.id);
  return true;
}

function isElected(world: World, server: Server): boolean {
  const holders = new Set(server.owners.values());
  const voters = [...holders].filter((id) => {
    const voter = world.serverAt(server.peers.get(id)?.ip ?? "");
    return voter?.id === id && owns(voter) && voter.peers.get(server.id)?.ip === server.ip;
  });
  return voters.length > holders.size / 2;
}
