/** What an agent sees of its own server. */
import type { ReplicaSight, ServerSight } from "../plan/lease/context.ts";
import type { Phase } from "../plan/lease/copy.ts";
import type { Node } from "./node.ts";
import { dataEpochOf } from "./server.ts";
import type { World } from "./world.ts";

export function sightOf(world: World, node: Node): ServerSight {
  const { server, agent } = node;
  if (server.phase === "running") {
    return server.frozen ? silentSight(world, node, agent.lastSight) : runningSight(world, node);
  }
  const { log } = server.disk;
  const phase: Phase = server.phase === "gated" ? "gated" : "absent";
  return {
    ...table(world, node),
    phase,
    suspended: false,
    run: phase === "gated" ? runName(node) : "",
    role: undefined,
    fenced: true,
    hasData: log.length > 0,
    dataEpoch: dataEpochOf(server.disk),
    offset: log.length,
    wasPrimary: server.wasPrimary,
    linkUp: false,
    replicas: [],
  };
}

function runName({ name, server }: Node): string {
  return `${name}@${server.run}`;
}

/** A server that does not answer is what it was, as far as its agent knows. */
function silentSight(world: World, node: Node, last: ServerSight | undefined): ServerSight {
  const known = last?.run === runName(node) ? last : { ...runningSight(world, node), fenced: false };
  return { ...known, phase: "silent", suspended: true };
}

function runningSight(world: World, node: Node): ServerSight {
  const { server } = node;
  return {
    ...table(world, node),
    phase: "running",
    suspended: false,
    run: runName(node),
    role: server.role,
    fenced: server.fenced,
    hasData: server.log.length > 0,
    dataEpoch: server.dataEpoch,
    offset: server.log.length,
    wasPrimary: server.role === "primary",
    linkUp: server.linkUp,
    replicas: server.role === "primary" ? replicasOf(world, node) : [],
  };
}

function table(world: World, { server, shard }: Node): Pick<ServerSight, "tableEpoch" | "owners"> {
  return { tableEpoch: server.epochs[shard] ?? 0, owners: server.owners.map((owner) => world.nameOf(owner)) };
}

function replicasOf(world: World, { server, agent }: Node): readonly ReplicaSight[] {
  const replicas: ReplicaSight[] = [];
  for (const [index, { at, length }] of server.acks) {
    const firstMissing = server.log[length];
    const behindMs = firstMissing === undefined ? 0 : world.now - (world.writes.at[firstMissing] ?? 0);
    replicas.push({ node: world.nameOf(index), online: true, behindMs, ackedAfter: agent.clock(at) });
  }
  return replicas.toSorted((a, b) => (a.node < b.node ? -1 : 1));
}
