/**
 * The running server as the rest of the agent sees it. Whoever implements it talks to one Valkey server over its unix
 * socket; everything is idempotent, has a deadline, and throws an error that says what the server answered.
 */
import type { FollowRequest, MeetRequest, OwnRequest } from "../rpc/gen/valkey/agent/v1/agent_pb.ts";
import type { Configuration, SecretMaterial } from "../rpc/gen/valkey/agent/v1/configuration_pb.ts";
import type {
  AppliedConfiguration,
  ClusterState,
  Drift,
  ReplicationState,
} from "../rpc/gen/valkey/agent/v1/state_pb.ts";
import type { WriteRule } from "./write-rule.ts";

/** What one look at a server that answers gives. */
export interface ServerLook {
  readonly loading: boolean;
  readonly version: string;
  readonly runId: string;
  readonly keys: bigint;
  readonly memoryBytes: bigint;
  readonly maxMemoryBytes: bigint;
  readonly uptimeSeconds: bigint;
  readonly cluster: ClusterState | undefined;
  readonly replication: ReplicationState | undefined;
  /** The stream of writes that it is in, and the one before: replication ids. */
  readonly streams: readonly string[];
  /** Of a primary's replicas: since when each has not acknowledged. */
  readonly lags: readonly ReplicaLag[];
  /** Absent while the server loads. */
  readonly writeRule: WriteRule | undefined;
}

export interface ReplicaLag {
  readonly ip: string;
  readonly port: number;
  readonly lagSeconds: number;
}

/** Everything that is asked of the server at once. */
export interface Wanted {
  readonly configuration: Configuration;
  readonly secrets: SecretMaterial;
}

export interface ServerControl {
  /** Rejects when the server does not answer within the deadline. */
  look(signal: AbortSignal): Promise<ServerLook>;
  /** A cheap sign of life. */
  ping(signal: AbortSignal): Promise<void>;
  /** Makes the running server what is wanted, as far as it can be without a restart. Rejects while it loads its data. */
  apply(wanted: Wanted, signal: AbortSignal): Promise<AppliedConfiguration>;
  /** Compares the running server with what was applied last and puts back what breaks it. */
  checkDrift(wanted: Wanted, signal: AbortSignal): Promise<readonly Drift[]>;
  own(request: OwnRequest, signal: AbortSignal): Promise<void>;
  meet(request: MeetRequest, signal: AbortSignal): Promise<void>;
  follow(request: FollowRequest, signal: AbortSignal): Promise<void>;
  forget(nodeIds: readonly string[], signal: AbortSignal): Promise<void>;
  /**
   * Saves, if asked to and if anything persists, and ends the server; resolves when its process is gone. A server that
   * does not listen counts as ended: whether it waits at the gate is known elsewhere.
   */
  shutdown(save: boolean, signal: AbortSignal): Promise<void>;
  close(): void;
}
