/**
 * Servers of a cluster that are played: what the operator's commands make of them and what their agents tell of them.
 * Nothing ever fails here and gossip takes no time; what is measured is the operator.
 */
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { FollowRequest, MeetRequest, OwnRequest } from "../../pkg/rpc/gen/valkey/agent/v1/agent_pb.ts";
import { type NodeState, NodeStateSchema, Role, ServerPhase } from "../../pkg/rpc/gen/valkey/agent/v1/state_pb.ts";

const SLOTS = 16_384;
const PORT = 6379;

type Slots = readonly { readonly first: number; readonly last: number }[];

export interface PlayedServer {
  /** In the cluster. */
  readonly id: string;
  readonly ip: string;
  /** Whom it follows; undefined for a primary. */
  primary: PlayedServer | undefined;
  slots: Slots;
  configEpoch: number;
  /** Itself included. */
  circle: Set<PlayedServer>;
  stopped: boolean;
}

/** What an agent adds to what its server is. */
export interface PlayedTelling {
  readonly bootId: string;
  readonly configurationHash: string;
  readonly secretsHash: string;
  readonly identityThumbprint: string;
  readonly uptimeSeconds: number;
}

export function playedServer(id: string, ip: string): PlayedServer {
  const circle = new Set<PlayedServer>();
  const server = { id, ip, primary: undefined, slots: [], configEpoch: 0, circle, stopped: false };
  circle.add(server);
  return server;
}

export function own(server: PlayedServer, { nodeId, slots, configEpoch }: OwnRequest): void {
  isMeant(server, nodeId);
  server.slots = slots.map(({ first, last }) => ({ first, last }));
  server.configEpoch = server.circle.size === 1 ? Number(configEpoch) : currentEpoch(server) + 1;
}

/** Whoever is met brings all that it knows. */
export function meet(server: PlayedServer, { peers }: MeetRequest, at: (ip: string) => PlayedServer | undefined): void {
  for (const { ip } of peers) {
    const met = at(ip);
    if (met === undefined || server.circle.has(met)) continue;
    const circle = new Set([...server.circle, ...met.circle]);
    for (const member of circle) member.circle = circle;
  }
}

export function follow(server: PlayedServer, { nodeId, primaryId }: FollowRequest): void {
  isMeant(server, nodeId);
  const primary = [...server.circle].find(({ id }) => id === primaryId);
  if (primary === undefined || primary === server) throw refused(`${primaryId} is not known here`);
  if (server.slots.length > 0) throw refused("it has slots of its own");
  server.primary = primary;
}

/** As agents do by themselves when a primary has stopped. */
export function promote(server: PlayedServer): void {
  const { primary } = server;
  if (primary === undefined) return;
  if (!primary.stopped) throw refused("its primary runs");
  Object.assign(server, { slots: primary.slots, primary: undefined, configEpoch: currentEpoch(server) + 1 });
  primary.slots = [];
}

export function forget(server: PlayedServer, ids: readonly string[]): void {
  server.circle = new Set([...server.circle].filter(({ id }) => !ids.includes(id)));
}

/** Whether clients can use it. */
export function isReady(server: PlayedServer): boolean {
  return (
    !server.stopped && slotsAssigned(server) === SLOTS && (server.slots.length > 0 || server.primary !== undefined)
  );
}

export function stateOf(server: PlayedServer, telling: PlayedTelling): NodeState {
  const { bootId, identityThumbprint, configurationHash, secretsHash, uptimeSeconds } = telling;
  const applied = { configurationHash, secretsHash };
  if (server.stopped) {
    const disk = { nodeId: server.id, primary: server.slots.length > 0 };
    return create(NodeStateSchema, {
      bootId,
      identityThumbprint,
      applied,
      disk,
      server: { phase: ServerPhase.STOPPED },
    });
  }
  const { id, primary } = server;
  return create(NodeStateSchema, {
    bootId,
    identityThumbprint,
    applied,
    server: {
      phase: ServerPhase.RUNNING,
      version: "9.1.0",
      runId: id,
      // Counters that move as those of a real server do.
      memoryBytes: BigInt(2_000_000 + uptimeSeconds),
      uptimeSeconds: BigInt(uptimeSeconds),
      ready: isReady(server),
    },
    cluster: {
      nodeId: id,
      ok: slotsAssigned(server) === SLOTS,
      role: roleOf(server),
      configEpoch: BigInt((primary ?? server).configEpoch),
      currentEpoch: BigInt(currentEpoch(server)),
      slotsAssigned: slotsAssigned(server),
      slots: [...server.slots],
      nodes: othersOf(server).map(knownNode),
      primaryId: primary?.id ?? "",
    },
    replication: {
      offset: BigInt(uptimeSeconds),
      inSync: primary !== undefined,
      replicas: othersOf(server)
        .filter((other) => other.primary === server)
        .map(({ ip }) => ({ ip, port: PORT, offset: BigInt(uptimeSeconds), online: true })),
    },
  });
}

function knownNode(server: PlayedServer) {
  const { id, ip, stopped, slots, configEpoch } = server;
  return {
    id,
    ip,
    port: PORT,
    role: roleOf(server),
    primaryId: server.primary?.id ?? "",
    failed: stopped,
    connected: !stopped,
    slots: [...slots],
    configEpoch: BigInt(configEpoch),
  };
}

function othersOf(server: PlayedServer): PlayedServer[] {
  return [...server.circle].filter((other) => other !== server);
}

function roleOf({ primary }: PlayedServer): Role {
  return primary === undefined ? Role.PRIMARY : Role.REPLICA;
}

function currentEpoch({ circle }: PlayedServer): number {
  return Math.max(...[...circle].map(({ configEpoch }) => configEpoch));
}

function slotsAssigned({ circle }: PlayedServer): number {
  const all = [...circle].flatMap(({ slots }) => slots);
  return all.reduce((sum, { first, last }) => sum + last - first + 1, 0);
}

function isMeant(server: PlayedServer, nodeId: string): void {
  if (server.id !== nodeId) throw refused(`this is ${server.id}, not ${nodeId}`);
}

function refused(why: string): ConnectError {
  return new ConnectError(why, Code.FailedPrecondition);
}
