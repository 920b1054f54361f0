/** What an agent tells of its node, put together from what it knows. Pure. */
import { create } from "@bufbuild/protobuf";
import {
  type AppliedConfiguration,
  type Drift,
  type NodeState,
  NodeStateSchema,
  ServerPhase,
  type Trouble,
} from "../rpc/gen/valkey/agent/v1/state_pb.ts";
import type { DiskStanding } from "./gate/disk.ts";
import type { ServerLook } from "./server-control.ts";

export interface NodeFacts {
  readonly bootId: string;
  readonly phase: ServerPhase;
  readonly waitsFor: string;
  readonly ready: boolean;
  readonly look: ServerLook | undefined;
  /** Undefined while the server runs. */
  readonly disk: DiskStanding | undefined;
  readonly applied: AppliedConfiguration | undefined;
  readonly drifts: readonly Drift[];
  readonly troubles: readonly Pick<Trouble, "reason" | "message">[];
  readonly identityThumbprint: string;
  readonly leaseEpoch: number;
}

export function nodeState(facts: NodeFacts): NodeState {
  const { look, disk, phase, waitsFor, ready, applied } = facts;
  const onDisk = disk?.hasData === true ? 1n : 0n;
  return create(NodeStateSchema, {
    bootId: facts.bootId,
    server: { phase, waitsFor, ready, ...(look === undefined ? { keys: onDisk } : counters(look)) },
    cluster: look?.cluster,
    replication: look?.replication,
    applied,
    disk: disk === undefined ? undefined : diskState(disk),
    drifts: [...facts.drifts],
    troubles: facts.troubles.map(({ reason, message }) => ({ reason, message })),
    identityThumbprint: facts.identityThumbprint,
    leaseEpoch: BigInt(facts.leaseEpoch),
  });
}

function counters({ version, runId, keys, memoryBytes, maxMemoryBytes, uptimeSeconds }: ServerLook) {
  return { version, runId, keys, memoryBytes, maxMemoryBytes, uptimeSeconds };
}

function diskState({ hasData, epoch, offset, nodeId, primary }: DiskStanding) {
  return { hasData, epoch, offset, nodeId, primary };
}

/** Equal for two states between which nothing but counters changed. */
export function withoutCounters({ server, replication, ...state }: NodeState): string {
  const plain = {
    ...state,
    server: server && { ...server, keys: server.keys === 0n ? 0n : 1n, memoryBytes: 0n, uptimeSeconds: 0n },
    replication: replication && {
      ...replication,
      offset: 0n,
      silentSeconds: 0n,
      replicas: replication.replicas.map((replica) => ({ ...replica, offset: 0n })),
    },
  };
  return JSON.stringify(plain, (_, value: unknown) => (typeof value === "bigint" ? `${value}` : value));
}
