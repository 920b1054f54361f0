import { expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import { FakeClock } from "../../clock/fake-clock.ts";
import type { NodeIdentity } from "../../pki/pki.ts";
import { type NodeState, NodeStateSchema, Role, ServerPhase } from "../../rpc/gen/valkey/agent/v1/state_pb.ts";
import { AgentMemory } from "./agent-memory.ts";

const identity: NodeIdentity = {
  role: "node",
  trustDomain: "valkey.local",
  namespace: "shop",
  kind: "valkeycluster",
  name: "cart",
  node: "cart-0-0",
};

interface Words {
  readonly bootId?: string;
  readonly keys?: bigint;
  readonly role?: Role;
  readonly trouble?: string;
}

function state({ bootId = "b1", keys = 0n, role = Role.PRIMARY, trouble }: Words = {}): NodeState {
  const nodes = [{ id: "other", ip: "10.0.0.2", role: Role.REPLICA, primaryId: "me" }];
  const server = { phase: ServerPhase.RUNNING, keys, version: "9.1.0" };
  const troubles = trouble === undefined ? [] : [{ reason: trouble, message: "" }];
  return create(NodeStateSchema, { bootId, server, troubles, cluster: { nodeId: "me", role, nodes } });
}

function listening() {
  const clock = new FakeClock();
  const memory = new AgentMemory(clock);
  const news: string[] = [];
  memory.subscribe(({ deployment, report }) => news.push(report?.reason ?? deployment));
  return { clock, memory, news };
}

test("what changes a decision is told, counters are not", () => {
  const { memory, news } = listening();
  memory.heard(identity, { bootId: "b1", state: state({ keys: 5n }) });
  memory.heard(identity, { bootId: "b1", state: state({ keys: 6n }) });
  memory.heard(identity, { bootId: "b1", state: undefined });
  expect(news).toEqual(["shop/cart"]);
  memory.heard(identity, { bootId: "b1", state: state({ role: Role.REPLICA }) });
  memory.heard(identity, { bootId: "b1", state: undefined, report: { reason: "ServerDied", message: "" } });
  expect(news).toEqual(["shop/cart", "shop/cart", "ServerDied"]);
});

test("a trouble is told when it comes and when it goes", () => {
  const { memory, news } = listening();
  for (const trouble of [undefined, "DiskFull", "DiskFull", undefined, undefined]) {
    memory.heard(identity, { bootId: "b1", state: state(trouble === undefined ? {} : { trouble }) });
  }
  expect(news).toHaveLength(3);
});

test("a heartbeat without a state counts only for the boot whose state is known", () => {
  const { memory } = listening();
  expect(memory.heard(identity, { bootId: "b1", state: undefined })).toBe(false);
  memory.heard(identity, { bootId: "b1", state: state() });
  expect(memory.heard(identity, { bootId: "b1", state: undefined })).toBe(true);
  expect(memory.heard(identity, { bootId: "b2", state: undefined })).toBe(false);
});

test("an older heartbeat that comes later changes nothing", () => {
  const { memory } = listening();
  memory.heard(identity, { bootId: "b1", state: state({ role: Role.REPLICA }), sequence: 7n });
  memory.heard(identity, { bootId: "b1", state: state({ role: Role.PRIMARY }), sequence: 6n });
  expect(memory.find("shop", "cart-0-0")?.view?.cluster?.role).toBe("replica");
});

test("a deployment cannot speak for a node of another one", () => {
  const { memory, news } = listening();
  memory.heard({ ...identity, node: "wallet-0-0" }, { bootId: "b1", state: state() });
  expect(memory.size).toBe(0);
  expect(news).toEqual([]);
});

test("another pod in a node's place is not believed to be as the one before", () => {
  const { memory } = listening();
  const record = memory.record(identity);
  memory.podIs(record, "pod-1");
  memory.heard(identity, { bootId: "b1", state: state() });
  memory.podIs(record, "pod-1");
  expect(record.view).toBeDefined();
  memory.podIs(record, "pod-2");
  expect([record.view, record.known]).toEqual([undefined, false]);
});

test("a new leader knows nobody until they are heard of", () => {
  const { memory } = listening();
  memory.heard(identity, { bootId: "b1", state: state() });
  memory.newTerm();
  expect(memory.find("shop", "cart-0-0")?.known).toBe(false);
});

test("the tables of others are kept once for all agents", () => {
  const { memory } = listening();
  memory.heard(identity, { bootId: "b1", state: state() });
  memory.heard({ ...identity, node: "cart-0-1" }, { bootId: "b2", state: state({ bootId: "b2" }) });
  const [one, two] = ["cart-0-0", "cart-0-1"].map((node) => memory.find("shop", node));
  expect(one?.view?.cluster?.nodes[0]).toBe(two?.view?.cluster?.nodes[0]);
  expect(one?.state?.cluster?.nodes).toEqual([]);
});

test("who is silent for long and asked for by nobody is forgotten", async () => {
  const { memory, clock } = listening();
  memory.heard(identity, { bootId: "b1", state: state() });
  await clock.advance(3_600_000);
  memory.heard({ ...identity, node: "cart-0-1" }, { bootId: "b2", state: state() });
  expect(memory.size).toBe(1);
});
