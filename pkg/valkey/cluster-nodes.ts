/**
 * The table of a cluster's nodes, as CLUSTER NODES answers it and as nodes.conf keeps it: one line per node,
 *
 *     <id> <ip:port@bus[,host name[,key=value…]]> <flags> <primary|-> <ping> <pong> <epoch> <link> <slots…>
 */
import { ValkeyError } from "./valkey-error.ts";

/** Both ends included. */
export interface Slots {
  readonly first: number;
  readonly last: number;
}

/** A slot on its way by the classic migration. */
export interface MovingSlot {
  readonly slot: number;
  /** Where it goes or comes from. */
  readonly node: string;
}

export interface ClusterNode {
  readonly id: string;
  /** Empty for the own node before anybody told it its address, and for a node without one. */
  readonly ip: string;
  readonly port: number;
  readonly busPort: number;
  /** Empty when none is announced. */
  readonly hostname: string;
  /** `shard-id`, `tls-port`, `nodename`…; CLUSTER NODES tells fewer than nodes.conf. */
  readonly aux: ReadonlyMap<string, string>;
  readonly myself: boolean;
  /** Undefined while a handshake has not told it. */
  readonly role: "primary" | "replica" | undefined;
  /** A majority holds it for failed. */
  readonly failed: boolean;
  /** This node alone holds it for failed. */
  readonly suspected: boolean;
  /** Its id is made up until the handshake is done. */
  readonly handshake: boolean;
  readonly noAddress: boolean;
  /** It never asks for votes by itself. */
  readonly noFailover: boolean;
  /** Whom it follows; empty for a primary. */
  readonly primaryId: string;
  /** Its own; a replica's is its primary's. */
  readonly configEpoch: bigint;
  readonly connected: boolean;
  readonly slots: readonly Slots[];
  readonly migrating: readonly MovingSlot[];
  readonly importing: readonly MovingSlot[];
}

export function parseClusterNodes(text: string): readonly ClusterNode[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .map(parseNodeLine);
}

/** The table without the times of the last pings, which change while nothing else does. */
export function withoutTimes(text: string): string {
  let rest = "";
  for (const line of text.split("\n")) {
    const ping = afterBlanks(line, 0, 4);
    const epoch = afterBlanks(line, ping, 2);
    rest += `${line.slice(0, ping)}${line.slice(epoch)}\n`;
  }
  return rest;
}

/** Where the text goes on after so many blanks; at its end when there are fewer. */
function afterBlanks(line: string, from: number, count: number): number {
  let at = from;
  for (let blank = 0; blank < count; blank += 1) {
    const next = line.indexOf(" ", at);
    if (next === -1) return line.length;
    at = next + 1;
  }
  return at;
}

/** The line of the node that was asked. */
export function myselfOf(nodes: readonly ClusterNode[]): ClusterNode {
  const own = nodes.filter(({ myself }) => myself);
  if (own.length === 1 && own[0] !== undefined) return own[0];
  throw malformed(`${own.length} lines say that they are the node itself`);
}

export function parseNodeLine(line: string): ClusterNode {
  const [id = "", address = "", flagText = "", primaryId = "", , , epoch = "", link = "", ...slotTexts] =
    line.split(/\s+/u);
  if (!/^[0-9a-f]{40}$/u.test(id)) throw malformed(`a line begins with no node id: ${excerpt(line)}`);
  if (!/^\d{1,20}$/u.test(epoch)) throw malformed(`node ${id} has no configuration epoch: ${excerpt(line)}`);
  const flags = new Set(flagText.split(","));
  return {
    id,
    ...parseAddress(id, address),
    myself: flags.has("myself"),
    role: roleOf(flags),
    failed: flags.has("fail"),
    suspected: flags.has("fail?"),
    handshake: flags.has("handshake"),
    noAddress: flags.has("noaddr"),
    noFailover: flags.has("nofailover"),
    primaryId: primaryId === "-" ? "" : primaryId,
    configEpoch: BigInt(epoch),
    connected: link === "connected",
    ...parseSlots(id, slotTexts),
  };
}

function roleOf(flags: ReadonlySet<string>): ClusterNode["role"] {
  if (flags.has("master") || flags.has("primary")) return "primary";
  if (flags.has("slave") || flags.has("replica")) return "replica";
  return undefined;
}

type NodeAddress = Pick<ClusterNode, "ip" | "port" | "busPort" | "hostname" | "aux">;

/** An IPv6 address holds colons: the port is what follows the last one. */
function parseAddress(id: string, text: string): NodeAddress {
  const [endpoint = "", hostname = "", ...pairs] = text.split(",");
  const match = /^(?<ip>.*):(?<port>\d{1,5})(?:@(?<bus>\d{1,5}))?$/u.exec(endpoint);
  if (match?.groups === undefined) throw malformed(`node ${id} has no address: ${excerpt(text)}`);
  const { ip = "", port, bus } = match.groups;
  const aux = new Map(pairs.map((pair) => splitPair(pair)));
  return { ip, port: Number(port), busPort: Number(bus ?? 0), hostname, aux };
}

function splitPair(pair: string): [string, string] {
  const equals = pair.indexOf("=");
  return equals === -1 ? [pair, ""] : [pair.slice(0, equals), pair.slice(equals + 1)];
}

type NodeSlots = Pick<ClusterNode, "slots" | "migrating" | "importing">;

function parseSlots(id: string, texts: readonly string[]): NodeSlots {
  const slots: Slots[] = [];
  const migrating: MovingSlot[] = [];
  const importing: MovingSlot[] = [];
  for (const text of texts) {
    const moving = /^\[(?<slot>\d{1,5})-(?<way>[<>])-(?<node>[0-9a-f]{40})\]$/u.exec(text);
    if (moving?.groups !== undefined) {
      const { slot, way, node = "" } = moving.groups;
      (way === ">" ? migrating : importing).push({ slot: slotNumber(id, slot), node });
      continue;
    }
    const range = /^(?<first>\d{1,5})(?:-(?<last>\d{1,5}))?$/u.exec(text);
    if (range?.groups === undefined) throw malformed(`node ${id} has slots that cannot be read: ${excerpt(text)}`);
    const first = slotNumber(id, range.groups["first"]);
    slots.push({ first, last: slotNumber(id, range.groups["last"] ?? range.groups["first"]) });
  }
  return { slots, migrating, importing };
}

function slotNumber(id: string, text: string | undefined): number {
  const slot = Number(text);
  if (slot < SLOT_COUNT) return slot;
  throw malformed(`node ${id} has slot ${text}, and there are ${SLOT_COUNT}`);
}

export const SLOT_COUNT = 16_384;

/** Every slot of the ranges. */
export function slotSet(ranges: readonly Slots[]): ReadonlySet<number> {
  const all = new Set<number>();
  for (const { first, last } of ranges) for (let slot = first; slot <= last; slot++) all.add(slot);
  return all;
}

/** The slots as the fewest ranges, in order. */
export function slotRanges(slots: Iterable<number>): readonly Slots[] {
  const ranges: { first: number; last: number }[] = [];
  for (const slot of [...new Set(slots)].toSorted((a, b) => a - b)) {
    const open = ranges.at(-1);
    if (open !== undefined && open.last === slot - 1) open.last = slot;
    else ranges.push({ first: slot, last: slot });
  }
  return ranges;
}

function malformed(message: string): ValkeyError {
  return new ValkeyError({ code: "bad-response", action: "CLUSTER NODES", message });
}

function excerpt(text: string): string {
  return JSON.stringify(text.length > 120 ? `${text.slice(0, 120)} …` : text);
}
