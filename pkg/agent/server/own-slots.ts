/**
 * Makes an empty node the primary of slots that nobody serves.
 *
 * Usually the node knows nobody: it gets its epoch, its slots, and is introduced afterwards. A shard may also have to be
 * reborn: all its copies are lost, and the table still binds its slots to a node that is no more. The empty node then
 * unbinds them in its own table, binds them to itself and takes an epoch above all that it knows, in one transaction; by
 * that epoch everybody else follows. Resetting the node instead would make it forget the cluster, or change its id while
 * the operator knows it by the old one.
 */
import type { OwnRequest } from "../../rpc/gen/valkey/agent/v1/agent_pb.ts";
import type { ValkeyClient } from "../../valkey/client.ts";
import { type ClusterNode, type Slots, slotRanges, slotSet } from "../../valkey/cluster-nodes.ts";
import { refusal } from "../../valkey/connection.ts";
import { ReplyError } from "../../valkey/resp.ts";
import { type ClusterTable, expectNode, readTable, unsafe } from "./cluster-table.ts";

const ACTION = "own slots";

/** What has to be done; undefined when nothing has to. */
export interface OwnPlan {
  readonly missing: readonly Slots[];
  /** Of those, what the table binds to nodes that are no more. */
  readonly unbind: readonly Slots[];
  readonly epoch: "keep" | "set" | "bump";
}

/** Throws when it would do harm. */
export function planOwn(request: OwnRequest, table: ClusterTable): OwnPlan | undefined {
  expectNode(ACTION, table, request.nodeId);
  const { myself, others, role, keys } = table;
  const wanted = slotSet(request.slots);
  const mine = slotSet(myself.slots);
  if (wanted.size === 0) throw unsafe(ACTION, "no slots were named");
  const foreign = mine.difference(wanted);
  if (foreign.size > 0) throw unsafe(ACTION, `the node owns other slots already: ${describe(foreign)}`);
  const missing = wanted.difference(mine);
  if (missing.size === 0) return undefined;
  if (myself.role !== "primary" || role.role !== "primary") {
    throw unsafe(ACTION, `the node is a replica of ${myself.primaryId}`, "promote it instead");
  }
  if (mine.size === 0 && keys > 0n) throw unsafe(ACTION, `the node holds ${keys} keys of its own`);
  const unbind = boundToOthers(missing, table, mine.size === 0 && keys === 0n);
  return { missing: slotRanges(missing), unbind: slotRanges(unbind), epoch: epochPlan(request, others, table, unbind) };
}

/** The server takes an epoch by word only while it has none and knows nobody. */
function epochPlan(
  { configEpoch }: OwnRequest,
  others: readonly ClusterNode[],
  { myself }: ClusterTable,
  unbind: ReadonlySet<number>,
): OwnPlan["epoch"] {
  if (others.length === 0) return myself.configEpoch === 0n && configEpoch > 0n ? "set" : "keep";
  return unbind.size > 0 || myself.configEpoch === 0n ? "bump" : "keep";
}

/** The missing slots that the table binds to others; all of those must be lost with every copy that they had. */
function boundToOthers(
  missing: ReadonlySet<number>,
  { myself, others }: ClusterTable,
  empty: boolean,
): ReadonlySet<number> {
  const bound = new Set<number>();
  for (const owner of others) {
    const taken = missing.intersection(slotSet(owner.slots));
    if (taken.size === 0) continue;
    if (!isLost(owner)) throw unsafe(ACTION, `slots ${describe(taken)} belong to ${owner.id}, which is there`);
    if (!empty) throw unsafe(ACTION, `slots ${describe(taken)} belong to ${owner.id}, and this node is not empty`);
    const heir = others.find((node) => node.primaryId === owner.id && node.id !== myself.id && !isLost(node));
    if (heir !== undefined) {
      const message = `slots ${describe(taken)} belong to ${owner.id}, whose replica ${heir.id} is there`;
      throw unsafe(ACTION, message, "promote the replica");
    }
    for (const slot of taken) bound.add(slot);
  }
  return bound;
}

/** With most primaries gone at once nobody can hold anybody for failed, only suspect. */
function isLost({ failed, suspected, noAddress, connected }: ClusterNode): boolean {
  return failed || noAddress || (suspected && !connected);
}

export async function ownSlots(client: ValkeyClient, request: OwnRequest, signal: AbortSignal): Promise<void> {
  const plan = planOwn(request, await readTable(client, signal));
  if (plan === undefined) return;
  const replies = await client.pipeline(commandsOf(plan, request.configEpoch), { signal });
  const failed = replies.flat().find((reply) => reply instanceof ReplyError);
  if (failed instanceof ReplyError) throw refusal(ACTION, failed);
  const left = planOwn(request, await readTable(client, signal));
  if (left !== undefined) throw unsafe(ACTION, `slots ${describe(slotSet(left.missing))} are still not its own`);
}

function commandsOf({ missing, unbind, epoch }: OwnPlan, configEpoch: bigint): readonly (readonly string[])[] {
  const ranges = (slots: readonly Slots[]) => slots.flatMap(({ first, last }) => [String(first), String(last)]);
  const add = ["CLUSTER", "ADDSLOTSRANGE", ...ranges(missing)];
  if (epoch === "set") return [["CLUSTER", "SET-CONFIG-EPOCH", String(configEpoch)], add];
  if (epoch === "keep" && unbind.length === 0) return [add];
  const free = unbind.length === 0 ? [] : [["CLUSTER", "DELSLOTSRANGE", ...ranges(unbind)]];
  return [["MULTI"], ["CLUSTER", "BUMPEPOCH"], ...free, add, ["EXEC"]];
}

function describe(slots: ReadonlySet<number>): string {
  const ranges = slotRanges(slots).map(({ first, last }) => (first === last ? String(first) : `${first}-${last}`));
  return ranges.length > 8 ? `${ranges.slice(0, 8).join(", ")} and more` : ranges.join(", ");
}
