/** Members for tests: said in a word or two, complete enough for the planner. */
import { slotsOfShard } from "./slots.ts";
import type { ClusterTable, FormationInput, KnownNode, MemberView, NodeView } from "./view.ts";

const NODE: NodeView = {
  bootId: "boot",
  phase: "running",
  keys: 0,
  ready: true,
  version: "9.1.0",
  waitsFor: "",
  cluster: undefined,
  replication: { offset: 0, inSync: true, syncing: false },
  disk: undefined,
  applied: { configurationHash: "c", secretsHash: "s" },
  leaseEpoch: 0,
};

const TABLE: Omit<ClusterTable, "id"> = {
  ok: true,
  role: "primary",
  primaryId: "",
  configEpoch: 0,
  currentEpoch: 0,
  slotsAssigned: 0,
  slots: [],
  nodes: [],
};

/** Member `member` of shard 0 of one, with pod, record and nothing to say. */
export function memberView(member: number, changes: Partial<MemberView> = {}): MemberView {
  return {
    name: `c-0-${member}`,
    shard: 0,
    member,
    ip: `10.0.0.${member}`,
    podRuns: true,
    ran: undefined,
    wantedForMs: 60_000,
    recordedId: `id${member}`,
    oldVolume: false,
    hasVolume: true,
    contact: { known: "unreachable", why: "no answer" },
    busy: undefined,
    pushed: undefined,
    ...changes,
  };
}

export function answering(member: number, state: Partial<NodeView>, changes: Partial<MemberView> = {}): MemberView {
  const contact = { known: "answer" as const, state: { ...NODE, ...state }, ageMs: 0, steadyMs: 60_000 };
  const sightings = "";
  const pushed = { bootId: "boot", configurationHash: "c", secretsHash: "s", sightings, ageMs: 0 };
  return memberView(member, { contact, pushed, ...changes });
}

export function running(
  member: number,
  table: Partial<ClusterTable>,
  state: Partial<NodeView> = {},
  changes: Partial<MemberView> = {},
): MemberView {
  return answering(member, { ...state, cluster: { ...TABLE, id: `id${member}`, ...table } }, changes);
}

export function knownNode(member: number, changes: Partial<KnownNode> = {}): KnownNode {
  const flags = { failed: false, handshake: false, connected: true };
  const base = { id: `id${member}`, ip: `10.0.0.${member}`, role: "primary" as const, primaryId: "", ...flags };
  return { ...base, slots: [], configEpoch: 0, ...changes };
}

export const ALL_SLOTS = [slotsOfShard(0, 1)];

export function inputOf(...members: readonly MemberView[]): FormationInput {
  return {
    shards: 1,
    members,
    wanted: { configurationHash: "c", secretsHash: "s" },
    strangersForMs: new Map(),
  };
}
