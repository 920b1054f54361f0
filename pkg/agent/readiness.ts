/**
 * Whether clients can use this node; the reason when they cannot. Services send clients to nodes that are ready, so what
 * passes by itself within seconds does not count: a failover must not empty them.
 */
import { Role, ServerPhase } from "../rpc/gen/valkey/agent/v1/state_pb.ts";
import type { ServerLook } from "./server-control.ts";

export interface ReadinessView {
  readonly phase: ServerPhase;
  readonly look: ServerLook | undefined;
  /** For how long the server has been without the write lease; for ever when it never had it. */
  readonly noLeaseMs: number;
  /** Whether its agent has a vote in leases and does not know yet what was granted before it. */
  readonly learning: boolean;
  /** Of a replica: whether it has been in sync since it started, and no full sync has begun since. */
  readonly synced: boolean;
  /** How long its cluster has not been usable in its own view; 0 when it is, for ever when it never was. */
  readonly clusterDownMs: number;
}

/** A failover, or a vote on who is failed, takes this long at most; after it the node's view of its cluster is of no use. */
const CLUSTER_DOWN_MS = 15_000;

const PHASES: ReadonlyMap<ServerPhase, string> = new Map([
  [ServerPhase.ABSENT, "the server does not run"],
  [ServerPhase.GATED, "the server waits at the gate"],
  [ServerPhase.LOADING, "the server reads its data"],
  [ServerPhase.RUNNING, "the server runs"],
  [ServerPhase.SILENT, "the server does not answer"],
  [ServerPhase.STOPPED, "the server was told to end"],
]);

export function phaseInWords(phase: ServerPhase): string {
  return PHASES.get(phase) ?? "nothing is known of the server";
}

export function whyNotReady(view: ReadinessView): string | undefined {
  const { phase, look, noLeaseMs, learning, synced, clusterDownMs } = view;
  if (phase !== ServerPhase.RUNNING) return phaseInWords(phase);
  const { cluster } = look ?? {};
  if (cluster === undefined) return "the server has not said what it is in its cluster";
  if (cluster.role === Role.REPLICA) {
    if (!synced) return "the replica is not in sync with its primary";
  } else if (cluster.slots.length === 0) return "the node owns no slots and follows nobody";
  else if (noLeaseMs >= CLUSTER_DOWN_MS) return "the primary has no write lease and takes no writes";
  if (clusterDownMs >= CLUSTER_DOWN_MS) return "the cluster is down in this node's view";
  // Whoever takes the next pod away relies on this one: while too few can vote, all writes stop.
  if (learning) return "the agent is new and has not learned yet who may write";
  return undefined;
}

/** Whether a server has, or had until now, all data of its shard: the primary has, a replica once it was in sync. */
export function syncedAfter({ cluster, replication }: ServerLook, before: boolean): boolean {
  if (replication?.syncing === true) return false;
  if (cluster?.role === Role.PRIMARY) return before || cluster.slots.length > 0;
  return before || replication?.inSync === true;
}
