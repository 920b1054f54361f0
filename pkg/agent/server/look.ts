/** One look at a running server: everything that is decided on, in one round trip. */
import { create } from "@bufbuild/protobuf";
import {
  type ClusterState,
  ClusterStateSchema,
  type KnownNode,
  KnownNodeSchema,
  type ReplicationState,
  ReplicationStateSchema,
  Role,
} from "../../rpc/gen/valkey/agent/v1/state_pb.ts";
import type { ValkeyClient } from "../../valkey/client.ts";
import { type ClusterNode, myselfOf, parseClusterNodes, withoutTimes } from "../../valkey/cluster-nodes.ts";
import { refusal } from "../../valkey/connection.ts";
import {
  countKeys,
  type InfoFields,
  type InfoLines,
  type InfoReplica,
  infoInteger,
  infoReplicas,
  infoText,
  parseInfo,
} from "../../valkey/info.ts";
import { pairsOf, textOf } from "../../valkey/replies.ts";
import { type Reply, ReplyError } from "../../valkey/resp.ts";
import type { ServerLook } from "../server-control.ts";
import { MAX_LAG, MIN_REPLICAS, type WriteRule } from "../write-rule.ts";

const QUESTIONS = [
  ["INFO", "server", "memory", "persistence", "replication", "keyspace"],
  ["CLUSTER", "INFO"],
  ["CLUSTER", "NODES"],
  ["CONFIG", "GET", MIN_REPLICAS, MAX_LAG],
];

/** With what is remembered of earlier looks, what has not changed since is not read again. */
export async function lookAt(
  client: ValkeyClient,
  signal: AbortSignal,
  memory = new ClusterMemory(),
): Promise<ServerLook> {
  const [info, clusterInfo, clusterNodes, settings] = await client.pipeline(QUESTIONS, { signal });
  const fields = parseInfo(textOf("INFO", info));
  const replicas = infoReplicas(fields);
  return {
    ...processOf(fields),
    cluster: clusterOf(clusterInfo, clusterNodes, memory),
    replication: replicationOf(fields, replicas),
    streams: [fields.get("master_replid") ?? "", fields.get("master_replid2") ?? ""],
    lags: replicas.map(({ ip, port, lagSeconds }) => ({ ip, port, lagSeconds })),
    writeRule: settings instanceof ReplyError ? undefined : writeRuleOf(settings),
  };
}

/** Absent while the server loads and does not say. */
function writeRuleOf(reply: Reply | undefined): WriteRule | undefined {
  const settings = pairsOf("CONFIG GET", reply);
  return { minReplicas: Number(settings.get(MIN_REPLICAS)), maxLag: Number(settings.get(MAX_LAG)) };
}

function processOf(fields: InfoLines): Omit<ServerLook, "cluster" | "replication" | "streams" | "lags" | "writeRule"> {
  return {
    loading: fields.get("loading") === "1",
    version: fields.get("valkey_version") ?? infoText(fields, "redis_version"),
    runId: infoText(fields, "run_id"),
    keys: countKeys(fields),
    memoryBytes: natural(fields, "used_memory"),
    maxMemoryBytes: natural(fields, "maxmemory"),
    uptimeSeconds: natural(fields, "uptime_in_seconds"),
  };
}

/** Absent while the server loads and answers no question about its cluster, and on a server without one. */
function clusterOf(
  info: Reply | undefined,
  nodesReply: Reply | undefined,
  memory: ClusterMemory,
): ClusterState | undefined {
  if (info instanceof ReplyError) {
    if (info.code === "LOADING" || info.message.includes("cluster support disabled")) return undefined;
    throw refusal("CLUSTER INFO", info);
  }
  return memory.read(parseInfo(textOf("CLUSTER INFO", info)), textOf("CLUSTER NODES", nodesReply));
}

const COUNTED = ["cluster_state", "cluster_current_epoch", "cluster_slots_assigned"];

/** The server's place in its cluster as it was last read: the same object until more than times of pings has changed. */
export class ClusterMemory {
  #last: { readonly text: string; readonly state: ClusterState } | undefined;

  read(fields: InfoLines, nodes: string): ClusterState {
    const text = [...COUNTED.map((name) => fields.get(name)), withoutTimes(nodes)].join("\n");
    if (this.#last?.text !== text) this.#last = { text, state: clusterState(fields, parseClusterNodes(nodes)) };
    return this.#last.state;
  }
}

function clusterState(fields: InfoLines, nodes: readonly ClusterNode[]): ClusterState {
  const own = myselfOf(nodes);
  return create(ClusterStateSchema, {
    nodeId: own.id,
    ok: fields.get("cluster_state") === "ok",
    role: roleOf(own),
    configEpoch: own.configEpoch,
    currentEpoch: natural(fields, "cluster_current_epoch"),
    slotsAssigned: Number(natural(fields, "cluster_slots_assigned")),
    slots: [...own.slots],
    primaryId: own.primaryId,
    nodes: nodes.filter((node) => !node.myself).map(knownNode),
  });
}

function knownNode(node: ClusterNode): KnownNode {
  return create(KnownNodeSchema, {
    id: node.id,
    ip: node.ip,
    port: node.port,
    role: roleOf(node),
    primaryId: node.primaryId,
    failed: node.failed,
    handshake: node.handshake,
    connected: node.connected,
    slots: [...node.slots],
    configEpoch: node.configEpoch,
  });
}

function roleOf({ role }: ClusterNode): Role {
  if (role === undefined) return Role.UNSPECIFIED;
  return role === "primary" ? Role.PRIMARY : Role.REPLICA;
}

function replicationOf(fields: InfoFields, listed: readonly InfoReplica[]): ReplicationState {
  if (infoText(fields, "role") === "master") {
    const replicas = listed.map(replicaState);
    return create(ReplicationStateSchema, { offset: natural(fields, "master_repl_offset"), replicas });
  }
  const syncing = fields.get("master_sync_in_progress") === "1";
  const up = fields.get("master_link_status") === "up";
  return create(ReplicationStateSchema, {
    offset: natural(fields, "slave_repl_offset"),
    // The link counts as up only after the first sync of this link is done; while a server loads, what it has is partial.
    inSync: up && !syncing && fields.get("loading") !== "1",
    syncing,
    silentSeconds: silence(fields, up),
  });
}

/** Since it last heard of its primary; since its start when it never did. */
function silence(fields: InfoFields, up: boolean): bigint {
  const since = infoInteger(fields, up ? "master_last_io_seconds_ago" : "master_link_down_since_seconds") ?? -1n;
  return since < 0n ? natural(fields, "uptime_in_seconds") : since;
}

function replicaState({ ip, port, offset, state }: InfoReplica) {
  return { ip, port, offset: offset < 0n ? 0n : offset, online: state === "online" };
}

/** The server writes -1 for what it does not know. */
function natural(fields: InfoFields, name: string): bigint {
  const value = infoInteger(fields, name) ?? 0n;
  return value < 0n ? 0n : value;
}
