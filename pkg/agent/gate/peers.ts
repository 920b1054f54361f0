/** Asks the other members of the shard for their standing, all at once, each within a short time. */
import type { NodeIdentity } from "../../pki/pki.ts";
import type { RpcClients } from "../../rpc/clients.ts";
import type { Sighting } from "../../rpc/gen/valkey/agent/v1/agent_pb.ts";
import type { Configuration, Member } from "../../rpc/gen/valkey/agent/v1/configuration_pb.ts";
import type { GetStandingResponse } from "../../rpc/gen/valkey/agent/v1/peer_pb.ts";
import { ServerPhase } from "../../rpc/gen/valkey/agent/v1/state_pb.ts";
import { leaderAmong, type Peer, type Standing } from "./standing.ts";

export interface AskPeers {
  readonly clients: RpcClients;
  readonly own: NodeIdentity;
  /** Of this agent: an answer to another boot's question opens nothing. */
  readonly bootId: string;
  readonly rpcPort: number;
}

export interface ShardView {
  readonly self: Member;
  readonly others: readonly Member[];
  readonly sightings: ReadonlyMap<string, Sighting>;
}

/** The shard of a node; undefined when the configuration does not name it. */
export function shardOf(
  { members }: Configuration,
  node: string,
  sightings: ReadonlyMap<string, Sighting>,
): ShardView | undefined {
  const self = members.find(({ name }) => name === node);
  if (self === undefined) return undefined;
  const others = members.filter(({ name, shard }) => shard === self.shard && name !== node);
  return { self, others, sightings };
}

/** Of one attempt at one address: enough for a handshake on a busy machine. */
const ANSWER_MS = 5000;
/** Nothing is lost when one that is said to be lost is not heard. */
const LOST_ANSWER_MS = 700;

/** Who leads settles everything: once that is heard, nobody else is waited for. */
export async function askPeers(ask: AskPeers, shard: ShardView, signal: AbortSignal): Promise<readonly Peer[]> {
  const { others, sightings } = shard;
  const peers: Peer[] = others.map(({ name: node }) => ({ node, known: "silent", why: "it was not waited for" }));
  const { promise: ledBySomebody, resolve } = Promise.withResolvers<void>();
  const asking = others.map(async (member, index) => {
    const peer = await askMember(ask, member, sightings.get(member.name), signal);
    peers[index] = peer;
    if (leaderAmong([peer]) !== undefined) resolve();
  });
  await Promise.race([Promise.all(asking), ledBySomebody]);
  return [...peers];
}

/** One that is said to be lost is asked all the same: an answer tells more than what was last heard of it. */
async function askMember(
  ask: AskPeers,
  member: Member,
  sighting: Sighting | undefined,
  signal: AbortSignal,
): Promise<Peer> {
  const hosts = [sighting?.ip ?? "", member.host].filter((host) => host !== "");
  let why = "its pod has no address yet";
  const timeoutMs = sighting?.lost === true ? LOST_ANSWER_MS : ANSWER_MS;
  for (const host of hosts) {
    const { standing, error } = await askAt(ask, member, host, { timeoutMs, signal });
    if (standing !== undefined) return { node: member.name, known: "answered", standing };
    why = error;
  }
  return sighting?.lost === true ? { node: member.name, known: "lost" } : { node: member.name, known: "silent", why };
}

type Asked =
  | { readonly standing: Standing; readonly error?: never }
  | { readonly standing?: never; readonly error: string };

interface Limits {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

async function askAt(ask: AskPeers, member: Member, host: string, limits: Limits): Promise<Asked> {
  const { clients, own, bootId, rpcPort } = ask;
  try {
    const client = clients.peer({ host, port: rpcPort }, { ...own, node: member.name });
    const answer = await client.getStanding({ bootId }, limits);
    if (answer.askedByBootId !== bootId || answer.node !== member.name) {
      return { error: "it answered another question than was asked" };
    }
    return { standing: standingOf(answer, member.member) };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

const RUNNING: ReadonlySet<ServerPhase> = new Set([ServerPhase.LOADING, ServerPhase.RUNNING, ServerPhase.SILENT]);

export function standingOf(answer: GetStandingResponse, member: number): Standing {
  const { node, phase, stopped, hasData, epoch, offset, primary, nodeId } = answer;
  return { node, member, running: RUNNING.has(phase), retired: stopped, hasData, epoch, offset, primary, nodeId };
}
