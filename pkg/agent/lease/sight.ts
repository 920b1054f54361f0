/** The agent's own server as the rules of the lease see it. Pure. */
import type { ReplicaSight, ServerSight } from "../../plan/lease/context.ts";
import type { Role as LeaseRole, Phase } from "../../plan/lease/copy.ts";
import { slotsOfShard } from "../../plan/objects/slots.ts";
import { type ClusterState, Role, ServerPhase } from "../../rpc/gen/valkey/agent/v1/state_pb.ts";
import type { DiskStanding } from "../gate/disk.ts";
import type { ServerLook } from "../server-control.ts";
import { nameIn } from "./addresses.ts";
import type { SeenReplica } from "./replica-watch.ts";

export interface SightFacts {
  readonly phase: ServerPhase;
  readonly run: string;
  /** State T. */
  readonly suspended: boolean;
  readonly fenced: boolean;
  /** As it last answered; undefined unless it was let in and has answered. */
  readonly look: ServerLook | undefined;
  /** What that look tells of its replicas. */
  readonly replicas: readonly SeenReplica[];
  /** Of a server that does not run. */
  readonly disk: DiskStanding | undefined;
  readonly dataEpoch: number;
  /** How far the data was when its stream began: only what is counted from there is the same for all copies. */
  readonly streamBase: number;
  /** Of a server that has just ended, whose disk was not read yet: whether it was the primary. */
  readonly wasPrimary: boolean;
  readonly shards: number;
  readonly node: string;
  /** Its own, in the cluster. */
  readonly nodeId: string;
  /** Of the others, by id in the cluster. */
  readonly names: ReadonlyMap<string, string>;
}

/** Gives the same object for as long as nothing is seen that is new: it is asked for many times between two looks. */
export class Sights {
  #last: { readonly facts: SightFacts; readonly sight: ServerSight } | undefined;

  of(facts: SightFacts): ServerSight {
    if (this.#last === undefined || !sameFacts(this.#last.facts, facts)) this.#last = { facts, sight: sightOf(facts) };
    return this.#last.sight;
  }
}

function sameFacts(a: SightFacts, b: SightFacts): boolean {
  return a.look === b.look && a.disk === b.disk && a.fenced === b.fenced && sameProcess(a, b) && samePlace(a, b);
}

function sameProcess(a: SightFacts, b: SightFacts): boolean {
  return a.phase === b.phase && a.run === b.run && a.suspended === b.suspended && a.wasPrimary === b.wasPrimary;
}

function samePlace(a: SightFacts, b: SightFacts): boolean {
  const stream = a.dataEpoch === b.dataEpoch && a.streamBase === b.streamBase;
  const names = a.node === b.node && a.nodeId === b.nodeId && a.names === b.names;
  return stream && names && a.shards === b.shards;
}

function nameOf({ node, nodeId, names }: SightFacts, id: string): string {
  return id === nodeId ? node : nameIn(names, id);
}

/** A replica hears of its primary every second. */
const HEARD_SECONDS = 1n;

const PHASES: ReadonlyMap<ServerPhase, Phase> = new Map([
  [ServerPhase.GATED, "gated"],
  [ServerPhase.LOADING, "loading"],
  [ServerPhase.RUNNING, "running"],
  [ServerPhase.SILENT, "silent"],
]);

export function sightOf(facts: SightFacts): ServerSight {
  const phase = PHASES.get(facts.phase) ?? "absent";
  const { run, suspended, fenced, dataEpoch } = facts;
  const base = { phase, suspended, run: phase === "absent" ? "" : run, dataEpoch };
  const { look } = facts;
  if (look?.cluster === undefined || phase === "gated" || phase === "absent") {
    return { ...base, ...stopped(facts), fenced: phase === "loading" ? fenced : true };
  }
  return { ...base, ...running(facts, look, look.cluster), fenced };
}

const UNREAD = { hasData: false, offset: 0n, epoch: 0n, owners: [] };

function stopped(facts: SightFacts) {
  const disk = facts.disk ?? { ...UNREAD, primary: facts.wasPrimary };
  return {
    role: undefined,
    hasData: disk.hasData,
    offset: Number(disk.offset) + facts.streamBase,
    wasPrimary: disk.primary,
    linkUp: false,
    tableEpoch: Number(disk.epoch),
    owners: ownersOf(facts, disk.owners),
    replicas: [],
  };
}

function running(facts: SightFacts, look: ServerLook, cluster: ClusterState) {
  const { keys, replication } = look;
  const role = roleOf(cluster);
  return {
    role,
    // What arrives in a full sync is not a copy before it is whole.
    hasData: keys > 0n && replication?.syncing !== true,
    offset: Number(replication?.offset ?? 0n) + facts.streamBase,
    wasPrimary: role === "primary",
    linkUp: replication?.inSync === true && replication.silentSeconds <= HEARD_SECONDS,
    tableEpoch: Number(cluster.configEpoch),
    owners: ownersOf(facts, [{ id: cluster.nodeId, slots: cluster.slots }, ...cluster.nodes]),
    replicas: role === "primary" ? replicasOf(facts, cluster) : [],
  };
}

/** A primary without slots takes no writes and has no place in a shard yet. */
function roleOf({ role, slots }: ClusterState): LeaseRole | undefined {
  if (role === Role.REPLICA) return "replica";
  return role === Role.PRIMARY && slots.length > 0 ? "primary" : undefined;
}

type Owner = { readonly id: string; readonly slots: readonly { readonly first: number; readonly last: number }[] };

function ownersOf(facts: SightFacts, all: readonly Owner[]): readonly (string | undefined)[] {
  const { shards } = facts;
  return Array.from({ length: shards }, (_, shard) => {
    const { first } = slotsOfShard(shard, shards);
    const owner = all.find(({ slots }) => slots.some((run) => run.first <= first && first <= run.last));
    return owner === undefined ? undefined : nameOf(facts, owner.id);
  });
}

function replicasOf(facts: SightFacts, { nodes }: ClusterState) {
  const replicas: ReplicaSight[] = [];
  for (const { ip, port, online, behindMs, ackedAfter } of facts.replicas) {
    const known = nodes.find((node) => node.ip === ip && node.port === port) ?? nodes.find((node) => node.ip === ip);
    if (known !== undefined) replicas.push({ node: nameOf(facts, known.id), online, behindMs, ackedAfter });
  }
  return replicas.toSorted((a, b) => (a.node < b.node ? -1 : 1));
}
