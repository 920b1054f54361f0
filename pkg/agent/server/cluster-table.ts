/** A node's place in its cluster at this moment: the table, what it holds, and waiting for either to change. */
import { type Clock, pause } from "../../clock/clock.ts";
import type { ValkeyClient } from "../../valkey/client.ts";
import { type ClusterNode, myselfOf, parseClusterNodes } from "../../valkey/cluster-nodes.ts";
import { refusal } from "../../valkey/connection.ts";
import { countKeys, infoInteger, infoText, parseInfo } from "../../valkey/info.ts";
import { textOf } from "../../valkey/replies.ts";
import { ReplyError } from "../../valkey/resp.ts";
import { parseRole, type ServerRole } from "../../valkey/role.ts";
import { isValkeyError, ValkeyError } from "../../valkey/valkey-error.ts";

export interface ClusterTable {
  /** Of the run of the server that it was read from. */
  readonly runId: string;
  readonly myself: ClusterNode;
  readonly others: readonly ClusterNode[];
  readonly role: ServerRole;
  readonly keys: bigint;
  readonly currentEpoch: bigint;
}

export async function readTable(client: ValkeyClient, signal: AbortSignal): Promise<ClusterTable> {
  const commands = [["CLUSTER", "NODES"], ["CLUSTER", "INFO"], ["ROLE"], ["INFO", "server", "keyspace"]];
  const [table, info, role, server] = await client.pipeline(commands, { signal });
  if (role instanceof ReplyError) throw refusal("ROLE", role);
  const nodes = parseClusterNodes(textOf("CLUSTER NODES", table));
  const fields = parseInfo(textOf("INFO", server));
  return {
    runId: infoText(fields, "run_id"),
    myself: myselfOf(nodes),
    others: nodes.filter(({ myself }) => !myself),
    role: parseRole(role ?? null),
    keys: countKeys(fields),
    currentEpoch: infoInteger(parseInfo(textOf("CLUSTER INFO", info)), "cluster_current_epoch") ?? 0n,
  };
}

/** Undefined for a server that is in no cluster. */
export async function readTableIfAny(client: ValkeyClient, signal: AbortSignal): Promise<ClusterTable | undefined> {
  try {
    return await readTable(client, signal);
  } catch (error) {
    if (isValkeyError(error, "refused") && error.reason.includes("cluster support disabled")) return undefined;
    throw error;
  }
}

/** A command that was meant for another node, or for this one before it was reborn, does nothing. */
export function expectNode(action: string, { myself }: ClusterTable, nodeId: string): void {
  if (myself.id === nodeId) return;
  const message = `this node is ${myself.id}, and the command is for ${nodeId === "" ? "no node" : nodeId}`;
  throw new ValkeyError({ code: "wrong-node", action, message, hint: "look at the node's state again" });
}

export function unsafe(action: string, message: string, hint?: string): ValkeyError {
  return new ValkeyError({ code: "unsafe", action, message, hint });
}

export interface Waiting {
  readonly action: string;
  /** What has not happened when the time is up, as the end of a sentence. */
  readonly what: () => string;
  readonly deadlineMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

const EVERY_MS = 25;

/** Tries until the attempt gives something; the error after the deadline says what did not happen. */
export async function waitUntil<T>(waiting: Waiting, attempt: () => Promise<T | undefined>): Promise<T> {
  const { action, what, deadlineMs, clock, signal } = waiting;
  const deadline = clock.monotonic() + deadlineMs;
  for (;;) {
    const result = await attempt();
    if (result !== undefined) return result;
    const passed = await pause(clock, EVERY_MS, signal);
    const late = clock.monotonic() >= deadline;
    if (passed && !late) continue;
    const message = `after ${late ? `${deadlineMs} ms` : "the caller's time"} ${what()}`;
    throw new ValkeyError({ code: late ? "deadline" : "aborted", action, message, cause: signal.reason });
  }
}
