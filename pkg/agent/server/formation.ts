/** A node's steps in forming its cluster, beside taking slots: meeting others, following a primary, forgetting the dead. */
import type { Clock } from "../../clock/clock.ts";
import type { FollowRequest, MeetRequest } from "../../rpc/gen/valkey/agent/v1/agent_pb.ts";
import type { ValkeyClient } from "../../valkey/client.ts";
import { refusal } from "../../valkey/connection.ts";
import { ReplyError } from "../../valkey/resp.ts";
import { type ClusterTable, expectNode, readTable, unsafe, waitUntil } from "./cluster-table.ts";

export interface StepOptions {
  readonly client: ValkeyClient;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** For what others have to do first. */
  readonly waitMs: number;
}

/**
 * A handshake that is under way is left alone. A node that is known already is met all the same: it hears with it which
 * slots this one owns, which the next ping would tell it seconds later.
 */
export async function meetPeers({ peers }: MeetRequest, { client, signal }: StepOptions): Promise<void> {
  const { others } = await readTable(client, signal);
  const shaking = (ip: string, bus: number) =>
    others.some((node) => node.ip === ip && node.busPort === bus && node.handshake);
  const strangers = peers.filter(({ ip, busPort }) => !shaking(ip, busPort));
  if (strangers.length === 0) return;
  const commands = strangers.map(({ ip, port, busPort }) => ["CLUSTER", "MEET", ip, String(port), String(busPort)]);
  const replies = await client.pipeline(commands, { signal });
  const index = replies.findIndex((reply) => reply instanceof ReplyError);
  const reply = replies[index];
  if (reply instanceof ReplyError) throw refusal(`meet ${strangers[index]?.ip ?? ""}`, reply);
}

const FOLLOW = "follow a primary";
/** An introduction that takes longer has failed, and whoever asked has to begin another one. */
const INTRODUCED_MS = 3000;

/** Waits until the primary is known by its id, follows it, and waits until ROLE says so. */
export async function followPrimary(request: FollowRequest, options: StepOptions): Promise<void> {
  const { client, signal } = options;
  let why = "nothing was seen";
  const deadlineMs = Math.min(options.waitMs, INTRODUCED_MS);
  await waitUntil({ action: FOLLOW, what: () => why, deadlineMs, clock: options.clock, signal }, async () => {
    const table = await readTable(client, signal);
    if (isFollowing(request, table)) return true;
    why = whyNotYet(request, table) ?? "the node has not become a replica";
    if (whyNotYet(request, table) !== undefined) return undefined;
    const [reply] = await client.pipeline([["CLUSTER", "REPLICATE", request.primaryId]], { signal });
    if (reply instanceof ReplyError) why = `the server says: ${reply.message}`;
    return undefined;
  });
}

function isFollowing({ primaryId }: FollowRequest, { myself, role }: ClusterTable): boolean {
  return myself.role === "replica" && myself.primaryId === primaryId && role.role === "replica";
}

/** What has to be waited for; throws for what waiting does not mend. */
function whyNotYet(request: FollowRequest, table: ClusterTable): string | undefined {
  const { primaryId } = request;
  expectNode(FOLLOW, table, request.nodeId);
  expectHarmless(request, table);
  const primary = table.others.find(({ id }) => id === primaryId);
  if (primary === undefined) return `${primaryId} is not known yet`;
  if (primary.handshake || primary.noAddress) return `the handshake with ${primaryId} is not done`;
  if (primary.failed) return `${primaryId} is held for failed`;
  // Who follows one whose slots it has not heard of could never take them over.
  if (primary.slots.length === 0) return `the slots of ${primaryId} are not known yet`;
  return primary.role === "primary" ? undefined : `${primaryId} is not a primary`;
}

/** Following empties the node: what it holds must be nothing, or a copy of what others serve. */
function expectHarmless({ nodeId, primaryId }: FollowRequest, { myself, others, keys }: ClusterTable): void {
  if (nodeId === primaryId) throw unsafe(FOLLOW, "a node cannot follow itself");
  if (myself.slots.length > 0) throw unsafe(FOLLOW, "the node owns slots");
  if (keys === 0n || (myself.role === "replica" && myself.primaryId === primaryId)) return;
  if (myself.role === "primary") throw unsafe(FOLLOW, `the node holds ${keys} keys of its own`);
  const before = others.find(({ id }) => id === myself.primaryId);
  if (before !== undefined && before.slots.length > 0) {
    throw unsafe(FOLLOW, `the node holds ${keys} keys of ${before.id}, which still owns slots`, "promote it, or wait");
  }
}

const FORGET = "forget nodes";

/**
 * All of them or, when one that answers owns slots, none. One that is held for failed may only be taken for an owner by
 * this node, whose table is behind: the owner's claim is heard once it is forgotten. An id that is not known is
 * forgotten already.
 */
export async function forgetNodes(nodeIds: readonly string[], { client, signal }: StepOptions): Promise<void> {
  const { myself, others } = await readTable(client, signal);
  const known = others.filter(({ id }) => nodeIds.includes(id));
  if (nodeIds.includes(myself.id)) throw unsafe(FORGET, `${myself.id} is this node itself`);
  const owner = known.find(({ slots, failed, connected }) => slots.length > 0 && connected && !failed);
  if (owner !== undefined) throw unsafe(FORGET, `${owner.id} owns slots`, "its slots need another owner first");
  if (known.some(({ id }) => id === myself.primaryId))
    throw unsafe(FORGET, `${myself.primaryId} is this node's primary`);
  if (known.length === 0) return;
  const replies = await client.pipeline(
    known.map(({ id }) => ["CLUSTER", "FORGET", id]),
    { signal },
  );
  for (const reply of replies) {
    if (reply instanceof ReplyError && !/unknown node/iu.test(reply.message)) throw refusal(FORGET, reply);
  }
}
