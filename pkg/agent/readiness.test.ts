import { describe, expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import {
  type ClusterState,
  ClusterStateSchema,
  type ReplicationState,
  ReplicationStateSchema,
  Role,
  ServerPhase,
} from "../rpc/gen/valkey/agent/v1/state_pb.ts";
import { type ReadinessView, syncedAfter, whyNotReady } from "./readiness.ts";
import type { ServerLook } from "./server-control.ts";

const SLOTS = [{ first: 0, last: 16_383 }];

function look(cluster?: ClusterState, replication?: ReplicationState): ServerLook {
  return {
    loading: false,
    version: "9.1.2",
    runId: "r",
    keys: 1n,
    memoryBytes: 1n,
    maxMemoryBytes: 0n,
    uptimeSeconds: 1n,
    cluster,
    replication,
    streams: [],
    lags: [],
    writeRule: undefined,
  };
}

const primary = create(ClusterStateSchema, { role: Role.PRIMARY, ok: true });
primary.slots.push(...create(ClusterStateSchema, { slots: SLOTS }).slots);
const fresh = create(ClusterStateSchema, { role: Role.PRIMARY, ok: true });
const replica = create(ClusterStateSchema, { role: Role.REPLICA, ok: true });
const view: ReadinessView = {
  phase: ServerPhase.RUNNING,
  look: look(primary),
  noLeaseMs: 0,
  learning: false,
  synced: true,
  clusterDownMs: 0,
};

const CASES: readonly (readonly [string, Partial<ReadinessView>, string | undefined])[] = [
  ["a primary with slots", {}, undefined],
  ["a node without slots that follows nobody", { look: look(fresh) }, "the node owns no slots and follows nobody"],
  ["a replica that was in sync", { look: look(replica) }, undefined],
  ["a replica before", { look: look(replica), synced: false }, "the replica is not in sync with its primary"],
  ["a primary that lost its lease a moment ago", { noLeaseMs: 14_000 }, undefined],
  ["a primary without a lease", { noLeaseMs: 16_000 }, "the primary has no write lease and takes no writes"],
  ["a voter that cannot vote", { learning: true }, "the agent is new and has not learned yet who may write"],
  ["a replica, which never has one", { look: look(replica), noLeaseMs: Number.POSITIVE_INFINITY }, undefined],
  ["a server at the gate", { phase: ServerPhase.GATED }, "the server waits at the gate"],
  ["a server that has not told its place", { look: look() }, "the server has not said what it is in its cluster"],
  ["a cluster that is down for a moment", { clusterDownMs: 14_000 }, undefined],
  ["a cluster that stays down", { clusterDownMs: 16_000 }, "the cluster is down in this node's view"],
];

test.each(CASES)("%s", (_, is, why) => {
  expect(whyNotReady({ ...view, ...is })).toBe(why);
});

describe("in sync", () => {
  const stream = (is: { inSync?: boolean; syncing?: boolean }) => create(ReplicationStateSchema, is);
  test("a replica is when it was once, until a full sync begins", () => {
    expect(syncedAfter(look(replica, stream({ inSync: false })), false)).toBe(false);
    expect(syncedAfter(look(replica, stream({ inSync: true })), false)).toBe(true);
    expect(syncedAfter(look(replica, stream({ inSync: false })), true)).toBe(true);
    expect(syncedAfter(look(replica, stream({ syncing: true })), true)).toBe(false);
  });

  test("a primary is, and stays so when it becomes a replica", () => {
    expect(syncedAfter(look(primary, stream({})), false)).toBe(true);
    expect(syncedAfter(look(fresh, stream({})), false)).toBe(false);
  });
});
