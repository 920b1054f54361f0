import { expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import { NodeViews } from "../../pkg/controllers/agents/node-view.ts";
import { planFormation } from "../../pkg/plan/formation/formation.ts";
import type { FormationStep } from "../../pkg/plan/formation/step.ts";
import type { MemberView } from "../../pkg/plan/formation/view.ts";
import {
  FollowRequestSchema,
  MeetRequestSchema,
  OwnRequestSchema,
} from "../../pkg/rpc/gen/valkey/agent/v1/agent_pb.ts";
import { addressOf } from "./fleet-memory-machines.ts";
import { follow, isReady, meet, own, type PlayedServer, playedServer, promote, stateOf } from "./fleet-memory-model.ts";

const SHARDS = 3;
const TOLD = { bootId: "boot", configurationHash: "c", secretsHash: "s", identityThumbprint: "", uptimeSeconds: 1 };

interface Place {
  readonly name: string;
  readonly shard: number;
  readonly member: number;
  readonly server: PlayedServer;
}

function places(): Place[] {
  return Array.from({ length: SHARDS * 2 }, (_, n) => {
    const [shard, member] = [Math.floor(n / 2), n % 2];
    return { name: `c-${shard}-${member}`, shard, member, server: playedServer(`id${n}`, addressOf(0, n)) };
  });
}

function memberOf({ name, shard, member, server }: Place): MemberView {
  const state = new NodeViews().of(stateOf(server, TOLD));
  return {
    name,
    shard,
    member,
    ip: server.ip,
    podRuns: true,
    ran: undefined,
    wantedForMs: 1000,
    recordedId: server.id,
    oldVolume: false,
    hasVolume: false,
    contact: { known: "answer", state, ageMs: 0, steadyMs: 60_000 },
    busy: undefined,
    pushed: undefined,
  };
}

function planned(members: readonly Place[]): readonly FormationStep[] {
  const { steps } = planFormation({
    shards: SHARDS,
    members: members.map(memberOf),
    wanted: { configurationHash: "c", secretsHash: "s" },
    strangersForMs: new Map(),
  });
  return steps.filter((step) => step.do !== "configure");
}

function take(members: readonly Place[], step: FormationStep): void {
  const server = members.find(({ name }) => name === step.node)?.server;
  if (server === undefined) throw new Error(`${step.node} is nobody`);
  const ipOf = (node: string) => members.find(({ name }) => name === node)?.server.ip ?? "";
  const at = (ip: string) => members.find(({ server: { ip: own } }) => own === ip)?.server;
  if (step.do === "own") {
    const { nodeId, slots, configEpoch } = step;
    own(server, create(OwnRequestSchema, { nodeId, slots: [...slots], configEpoch: BigInt(configEpoch) }));
  }
  if (step.do === "meet") {
    meet(server, create(MeetRequestSchema, { peers: step.peers.map((node) => ({ ip: ipOf(node) })) }), at);
  }
  if (step.do === "follow") follow(server, create(FollowRequestSchema, step));
  if (step.do === "promote") promote(server);
}

function formed(): Place[] {
  const members = places();
  for (let round = 0; round < 10; round += 1) for (const step of planned(members)) take(members, step);
  return members;
}

test("played servers are formed by the plan that forms real ones, and then left alone", () => {
  const members = formed();
  expect(planned(members)).toEqual([]);
  expect(members.filter(({ server }) => !isReady(server))).toEqual([]);
  expect(members.map(({ server }) => server.primary?.id)).toEqual([
    undefined,
    "id0",
    undefined,
    "id2",
    undefined,
    "id4",
  ]);
});

test("a played replica takes the place of its stopped primary", () => {
  const members = formed();
  const [first, second] = members;
  if (first === undefined || second === undefined) throw new Error("there are six");
  first.server.stopped = true;
  const [step] = planned(members);
  expect(step).toMatchObject({ do: "promote", node: "c-0-1" });
  for (const each of planned(members)) take(members, each);
  expect(isReady(second.server)).toBe(true);
});

test("every pod of every share has an address of its own", () => {
  const all = [0, 1, 15].flatMap((share) => Array.from({ length: 600 }, (_, n) => addressOf(share, n)));
  expect(new Set(all).size).toBe(all.length);
  expect(all.at(-1)).toBe("10.200.242.100");
});
