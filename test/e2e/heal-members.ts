/** Who a cluster's members are at this moment, by the word of the servers themselves: the status comes later. */
import * as v from "valibot";
import { MEMBER_LABEL, PORTS, SHARD_LABEL } from "../../pkg/plan/objects/names.ts";
import { parseRole } from "../../pkg/valkey/role.ts";
import { Connection } from "../lib/resp/connection.ts";
import { within } from "../lib/until.ts";
import type { WitnessedServer } from "../lib/witness/acknowledgement.ts";
import { slotOf } from "../lib/write-client/slots.ts";
import { type ClusterPod, type ClusterRef, podsOf } from "./clusters.ts";

export interface Member {
  readonly pod: string;
  readonly uid: string;
  /** The Kubernetes Node. */
  readonly node: string;
  readonly ip: string;
  readonly shard: number;
  readonly member: number;
  /** Whether kubelet holds it for ready and it is not on its way out. */
  readonly ready: boolean;
  /** Whether somebody has deleted it. */
  readonly leaving: boolean;
  /** `none` when it does not answer. */
  readonly role: "primary" | "replica" | "none";
  /** Of a replica: whether it follows the stream. */
  readonly following: boolean;
}

const ANSWER_MS = 500;
const ordinal = v.pipe(v.string(), v.regex(/^\d+$/), v.transform(Number));

export async function membersOf(ref: ClusterRef): Promise<Member[]> {
  return Promise.all((await podsOf(ref)).map(memberOf));
}

async function memberOf({ metadata, spec, status }: ClusterPod): Promise<Member> {
  const { labels = {}, name, uid = "", deletionTimestamp } = metadata;
  const ready = status.conditions.some((one) => one.type === "Ready" && one.status === "True");
  return {
    pod: name,
    uid,
    node: spec.nodeName,
    ip: status.podIP,
    shard: v.parse(ordinal, labels[SHARD_LABEL]),
    member: v.parse(ordinal, labels[MEMBER_LABEL]),
    ready: ready && deletionTimestamp === undefined,
    leaving: deletionTimestamp !== undefined,
    ...(await roleAt(status.podIP)),
  };
}

export async function roleAt(ip: string): Promise<Pick<Member, "role" | "following">> {
  const NONE = { role: "none", following: false } as const;
  if (ip === "") return NONE;
  try {
    const connection = await Connection.open({ at: { host: ip, port: PORTS.client }, timeoutMs: ANSWER_MS });
    try {
      const role = parseRole(await within("ROLE", ANSWER_MS, () => connection.call("ROLE")));
      return { role: role.role, following: role.role === "replica" && role.link === "connected" };
    } finally {
      connection.close();
    }
  } catch {
    return NONE; // Loading, at the gate, frozen or gone.
  }
}

/** A tag for each shard of a cluster whose slots are split evenly, whose slot that shard owns. */
export function tagOf(shard: number, shards: number): string {
  const width = 16_384 / shards;
  // The middle half: where exactly shards meet depends on rounding.
  const inside = (slot: number) => slot > width * (shard + 0.25) && slot < width * (shard + 0.75);
  for (let turn = 0; ; turn += 1) if (inside(slotOf(`${turn}`))) return `${turn}`;
}

export function witnessed(members: readonly Member[], shards: number): WitnessedServer[] {
  return members
    .filter(({ ip }) => ip !== "")
    .map(({ pod, ip, shard }) => ({
      pod,
      ip,
      port: PORTS.client,
      shard,
      tag: tagOf(shard, shards),
      replicas: members.filter((one) => one.shard === shard).length - 1,
    }));
}
