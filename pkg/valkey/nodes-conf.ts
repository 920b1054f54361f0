/** nodes.conf: what a stopped node knows of its cluster and of itself. */
import { readFile } from "node:fs/promises";
import { type ClusterNode, myselfOf, parseNodeLine } from "./cluster-nodes.ts";

export interface NodesConf {
  readonly myself: ClusterNode;
  /** The others. */
  readonly others: readonly ClusterNode[];
  /** The highest epoch that it knew; 0 when the file is older than its line of variables. */
  readonly currentEpoch: bigint;
  readonly lastVoteEpoch: bigint;
}

/** Throws when the file is damaged or is not about a node of its own. */
export function parseNodesConf(text: string): NodesConf {
  const nodes: ClusterNode[] = [];
  let vars: ReadonlyMap<string, bigint> = new Map();
  for (const raw of text.split("\n")) {
    const line = raw.trim();
    if (line === "") continue;
    if (line.startsWith("vars ")) vars = parseVars(line);
    else nodes.push(parseNodeLine(line));
  }
  return {
    myself: myselfOf(nodes),
    others: nodes.filter(({ myself }) => !myself),
    currentEpoch: vars.get("currentEpoch") ?? 0n,
    lastVoteEpoch: vars.get("lastVoteEpoch") ?? 0n,
  };
}

/** Undefined when there is no such file, or an empty one as a node has before it first saved. */
export async function readNodesConf(path: string): Promise<NodesConf | undefined> {
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return "";
    throw error;
  });
  return text.trim() === "" ? undefined : parseNodesConf(text);
}

/** `vars currentEpoch 5 lastVoteEpoch 3` */
function parseVars(line: string): ReadonlyMap<string, bigint> {
  const words = line.split(/\s+/u).slice(1);
  const vars = new Map<string, bigint>();
  for (let at = 0; at + 1 < words.length; at += 2) {
    const [name = "", value = ""] = words.slice(at, at + 2);
    if (/^\d{1,20}$/u.test(value)) vars.set(name, BigInt(value));
  }
  return vars;
}

/**
 * The same file with its own node as a replica of `primaryId`, which has its slots. A server that starts with it is a
 * replica before it opens a port: with slots of its own it would be the source of those who still follow it. Slots that
 * were nobody's could not be claimed in an election, if that primary never comes.
 */
export function asReplicaOf(text: string, primaryId: string): string {
  const lines = text.split("\n").map((line) => line.split(" "));
  const primary = lines.find(([id]) => id === primaryId);
  const myself = lines.find(isMyself) ?? [];
  const changed = lines.map((words) => {
    if (words === myself) return replicaLine(words, primaryId, primary);
    return words === primary ? primaryLine(words, myself) : words;
  });
  return changed.map((words) => words.join(" ")).join("\n");
}

function isMyself([id, , flags = ""]: readonly string[]): boolean {
  return id !== "vars" && flags.split(",").includes("myself");
}

/** `id address flags primary ping pong epoch link`, then slots. */
const WORDS_BEFORE_SLOTS = 8;
const FLAGS_WORD = 2;
const PRIMARY_WORD = 3;
const EPOCH_WORD = 6;

function replicaLine(
  words: readonly string[],
  primaryId: string,
  primary: readonly string[] | undefined,
): readonly string[] {
  const [id = "", address = "", , , ...rest] = words.slice(0, WORDS_BEFORE_SLOTS);
  return [id, inShardOf(address, primary?.[1]), "myself,slave", primaryId, ...rest];
}

/** Keeps the higher epoch: the others know the right one, and correct who claims slots with a lower. */
function primaryLine(words: readonly string[], myself: readonly string[]): readonly string[] {
  const slots = myself.slice(WORDS_BEFORE_SLOTS);
  if (slots.length === 0) return words;
  const changed = [...words, ...slots];
  const flags = (words[FLAGS_WORD] ?? "").split(",").map((flag) => (flag === "slave" ? "master" : flag));
  changed[FLAGS_WORD] = flags.join(",");
  changed[PRIMARY_WORD] = "-";
  changed[EPOCH_WORD] = String(Math.max(Number(words[EPOCH_WORD]), Number(myself[EPOCH_WORD])));
  return changed;
}

/**
 * The same file with every replica in the shard of its primary. Servers write what they have heard last, of a replica now
 * and then the shard that it was alone in before it followed; 8.1.1 takes such a file of its own for damaged, and ends at
 * every start (9.1 does not).
 */
export function withShardsOfPrimaries(text: string): string {
  const lines = text.split("\n").map((line) => line.split(" "));
  const byId = new Map(lines.map((words) => [words[0] ?? "", words]));
  const mended = lines.map((words) => {
    const [id = "", address = "", ...rest] = words;
    const leader = leaderOf(words, byId);
    return leader === words ? words : [id, inShardOf(address, leader[1]), ...rest];
  });
  return mended.map((words) => words.join(" ")).join("\n");
}

/** At the end of the row of those that follow each other; the line itself if it follows nobody that the file has. */
function leaderOf(line: readonly string[], byId: ReadonlyMap<string, readonly string[]>): readonly string[] {
  let leader = line;
  for (let steps = 0; steps < byId.size; steps += 1) {
    const next = byId.get(leader[PRIMARY_WORD] ?? "");
    if (next === undefined) break;
    leader = next;
  }
  return leader;
}

/** A server refuses a file in which a replica is of another shard than its primary. */
function inShardOf(address: string, primaryAddress: string | undefined): string {
  const shard = primaryAddress?.split(",").find((part) => part.startsWith("shard-id="));
  if (shard === undefined) return address;
  return address
    .split(",")
    .map((part) => (part.startsWith("shard-id=") ? shard : part))
    .join(",");
}
