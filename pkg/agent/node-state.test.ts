import { expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import { ReplicationStateSchema, ServerPhase } from "../rpc/gen/valkey/agent/v1/state_pb.ts";
import { type NodeFacts, nodeState, withoutCounters } from "./node-state.ts";
import type { ServerLook } from "./server-control.ts";

const look: ServerLook = {
  loading: false,
  version: "9.1.2",
  runId: "run",
  keys: 5n,
  memoryBytes: 10n,
  maxMemoryBytes: 100n,
  uptimeSeconds: 3n,
  cluster: undefined,
  replication: create(ReplicationStateSchema, { offset: 7n, replicas: [{ ip: "10.0.0.1", offset: 7n, online: true }] }),
  streams: [],
  lags: [],
  writeRule: undefined,
};
const facts: NodeFacts = {
  bootId: "boot",
  phase: ServerPhase.RUNNING,
  waitsFor: "",
  ready: true,
  look,
  disk: undefined,
  applied: undefined,
  drifts: [],
  troubles: [{ reason: "NotApplied", message: "why" }],
  leaseEpoch: 4,
  identityThumbprint: "ab",
};

test("a node at the gate tells what it has on disk", () => {
  const disk = {
    hasData: true,
    epoch: 3n,
    offset: 9n,
    nodeId: "id",
    primary: true,
    mode: "snapshot",
    stream: "",
    owners: [],
    trouble: undefined,
  } as const;
  const state = nodeState({ ...facts, phase: ServerPhase.GATED, look: undefined, disk, waitsFor: "c-0-1" });
  expect(state.server).toMatchObject({ phase: ServerPhase.GATED, keys: 1n, waitsFor: "c-0-1" });
  expect(state.disk).toMatchObject({ hasData: true, epoch: 3n, offset: 9n, nodeId: "id", primary: true });
  expect(state.replication).toBeUndefined();
});

test("counters alone are no news, everything else is", () => {
  const plain = (changes: Partial<NodeFacts>) => withoutCounters(nodeState({ ...facts, ...changes }));
  const grown = create(ReplicationStateSchema, {
    offset: 99n,
    replicas: [{ ip: "10.0.0.1", offset: 80n, online: true }],
  });
  const busy = { ...look, keys: 6n, memoryBytes: 11n, uptimeSeconds: 4n, replication: grown };
  expect(plain({ look: busy })).toBe(plain({}));
  expect(plain({ look: { ...look, keys: 0n } })).not.toBe(plain({}));
  expect(plain({ ready: false })).not.toBe(plain({}));
  expect(plain({ troubles: [] })).not.toBe(plain({}));
  const offline = create(ReplicationStateSchema, { replicas: [{ ip: "10.0.0.1", online: false }] });
  expect(plain({ look: { ...look, replication: offline } })).not.toBe(plain({}));
});
