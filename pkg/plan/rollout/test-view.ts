/** Clusters for tests of rolling changes: healthy and outdated, unless told otherwise. */
import { slotsOfShard } from "../objects/slots.ts";
import type { MemberAnswer, RolloutMember, RolloutView } from "./view.ts";

export const NOW = new Date("2026-05-01T12:00:00Z");

export interface Shape {
  readonly shards: number;
  readonly replicas: number;
}

/** Member 0 of each shard leads. */
export function member(place: { shard: number; member: number }, { shards }: Shape): RolloutMember {
  const name = `shop-${place.shard}-${place.member}`;
  const { first, last } = slotsOfShard(place.shard, shards);
  const leads = place.member === 0;
  const answer: MemberAnswer = {
    ageMs: 0,
    nodeId: `id-${name}`,
    running: true,
    ownSlots: leads ? last - first + 1 : 0,
    primaryId: leads ? "" : `id-shop-${place.shard}-0`,
    inSync: !leads,
    clusterOk: true,
    slotsAssigned: 16_384,
    electable: true,
    version: "9.1.0",
  };
  return {
    name,
    ...place,
    pod: "running",
    going: false,
    holdsNothing: false,
    ready: true,
    readySince: new Date(NOW.getTime() - 3_600_000),
    outdated: true,
    letGo: false,
    answer,
    silence: "",
    refused: [],
    troubles: [],
  };
}

export interface TestView extends Partial<Omit<RolloutView, "members">> {
  readonly shape?: Shape;
  /** Changes by name. */
  readonly change?: Readonly<Record<string, Partial<RolloutMember>>>;
}

export function rolloutOf({ shape = { shards: 3, replicas: 1 }, change = {}, ...rest }: TestView = {}): RolloutView {
  const places = Array.from({ length: shape.shards }, (_, shard) =>
    Array.from({ length: shape.replicas + 1 }, (_, place) => ({ shard, member: place })),
  ).flat();
  return {
    members: places.map((place) => {
      const one = member(place, shape);
      return { ...one, ...change[one.name] };
    }),
    strategy: "Rolling",
    maxUnavailable: 1,
    canarySeconds: 0,
    window: "",
    wantedVersion: "9.1",
    keepsData: true,
    failover: undefined,
    now: NOW,
    ...rest,
  };
}

export const UPDATED = { outdated: false } as const;

/** As they are after a handover from member 0 to member 1. */
export function handedOver(shard: number, { shards }: Shape): Readonly<Record<string, Partial<RolloutMember>>> {
  const [old, now] = [
    member({ shard, member: 0 }, { shards, replicas: 1 }),
    member({ shard, member: 1 }, { shards, replicas: 1 }),
  ];
  if (old.answer === undefined || now.answer === undefined) return {};
  return {
    [old.name]: { answer: { ...old.answer, ownSlots: 0, primaryId: now.answer.nodeId, inSync: true } },
    [now.name]: { ...UPDATED, answer: { ...now.answer, ownSlots: old.answer.ownSlots, primaryId: "", inSync: false } },
  };
}
