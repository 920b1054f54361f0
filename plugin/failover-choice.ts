/** Which shard is to fail over, from what a person typed and what the cluster is; what cannot be is said with what can. */
import { nearNames } from "./near.ts";
import type { NodePicture } from "./node-picture.ts";
import type { Picture, ShardPicture } from "./picture.ts";

export interface FailoverWish {
  /** A shard's number, or a pod or node of it. */
  readonly target?: string | undefined;
  /** The pod or node that is to lead. */
  readonly to?: string | undefined;
}

export interface FailoverChoice {
  readonly shard: ShardPicture;
  readonly from: NodePicture;
  /** Undefined when the agent chooses. */
  readonly to: NodePicture | undefined;
  /** Replicas that could lead. */
  readonly heirs: readonly NodePicture[];
}

export function chooseFailover(picture: Picture, { target, to }: FailoverWish): FailoverChoice {
  refuseClosed(picture);
  const heir = to === undefined ? undefined : nodeNamed(picture, to);
  const shard = target === undefined ? shardOfHeir(picture, heir) : shardNamed(picture, target);
  const from = primaryOf(picture, shard);
  refuseReplicaAsTarget(target, from, shard);
  const heirs = shard.nodes.filter((node) => node !== from && node.ready && node.state === "in sync");
  if (heir !== undefined) refuseHeir(heir, from, shard);
  if (heir === undefined ? heirs.length > 0 : heirs.includes(heir)) return { shard, from, to: heir, heirs };
  const who = heir === undefined ? `no replica of shard ${shard.index} is` : `${heir.name} is not`;
  throw new Error(`${who} in sync, so nothing was done: ${statesOf(shard, from)}`);
}

function primaryOf({ name }: Picture, { nodes, index }: ShardPicture): NodePicture {
  const primary = nodes.find(({ role }) => role === "primary");
  if (primary !== undefined) return primary;
  throw new Error(`shard ${index} has no primary that could hand over; kubectl valkey status ${name} says why`);
}

function refuseHeir(heir: NodePicture, from: NodePicture, { index }: ShardPicture): void {
  if (heir.name === from.name) throw new Error(`${heir.name} leads shard ${index} already`);
  if (heir.shard === index) return;
  throw new Error(
    `${heir.name} is of shard ${heir.shard}, not of shard ${index}: only a replica of a shard can lead it`,
  );
}

function refuseClosed({ status, suspended, deleting, name }: Picture): void {
  if (deleting) throw new Error(`${name} is being deleted`);
  if (suspended) throw new Error(`${name} is suspended: there is no primary that could hand over`);
  if (status === undefined)
    throw new Error(`the operator has not looked at ${name} yet. Is it running? kubectl valkey version`);
  const { failover } = status;
  if (failover?.phase === "Running" || failover?.phase === "Pending") {
    throw new Error(`a failover of shard ${failover.shard} is under way already: ${failover.message}`);
  }
}

function shardOfHeir(picture: Picture, heir: NodePicture | undefined): ShardPicture {
  const shard = picture.shards.find(({ index }) => index === heir?.shard);
  if (shard !== undefined) return shard;
  const shards = picture.shards.map(({ index, primary = "no primary" }) => `${index} (${primary})`).join(", ");
  throw new Error(`which shard? Name one, or a pod of it: ${shards}`);
}

function shardNamed(picture: Picture, target: string): ShardPicture {
  const index = /^\d+$/.test(target) ? Number(target) : nodeNamed(picture, target).shard;
  const shard = picture.shards.find((one) => one.index === index);
  if (shard !== undefined) return shard;
  throw new Error(`there is no shard ${target}: there are ${picture.shards.map((one) => one.index).join(", ")}`);
}

function nodeNamed({ shards }: Picture, name: string): NodePicture {
  const nodes = shards.flatMap((shard) => shard.nodes);
  const found = nodes.find((node) => node.name === name || node.pod === name);
  if (found !== undefined) return found;
  const near = nearNames(
    name,
    nodes.map((node) => node.pod ?? node.name),
  );
  const help =
    near.length > 0
      ? `Did you mean ${near.join(" or ")}?`
      : `There are: ${nodes
          .map((node) => node.name)
          .slice(0, 12)
          .join(", ")}`;
  throw new Error(`there is no pod ${name} in this cluster. ${help}`);
}

/** Somebody may mean "away from it" or "to it": only the first can be said like this. */
function refuseReplicaAsTarget(target: string | undefined, from: NodePicture, { nodes, index }: ShardPicture): void {
  const meant = nodes.find((node) => node.name === target || node.pod === target);
  if (meant === undefined || meant === from) return;
  throw new Error(
    `${meant.name} is a replica; ${from.name} leads shard ${index}. To make ${meant.name} lead: --to ${meant.name}`,
  );
}

function statesOf({ nodes }: ShardPicture, from: NodePicture): string {
  const others = nodes.filter((node) => node !== from);
  return others.length === 0 ? "it has no replicas" : others.map(({ name, state }) => `${name} is ${state}`).join(", ");
}
