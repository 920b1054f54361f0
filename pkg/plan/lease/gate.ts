/** The gate keeper: lets the own server start when its place in the shard is known, and as what. */
import type { Context, Output } from "./context.ts";
import type { Standing } from "./copy.ts";
import { firstUnmet, type Hold } from "./demand.ts";

export interface GateState {
  /** The run that waits, and since when: only what was asked after that counts for it. */
  readonly run: string | undefined;
  readonly since: number;
  readonly opened: boolean;
  readonly hold: Hold | undefined;
}

export const NO_GATE: GateState = { run: undefined, since: Number.POSITIVE_INFINITY, opened: false, hold: undefined };

export interface GateFacts {
  readonly context: Context;
  readonly own: Standing;
  readonly peers: ReadonlyMap<string, Standing>;
  /** The running primary of the shard that holds its lease. */
  readonly leader: Standing | undefined;
}

export function arriveAtGate({ server, now }: Context, gate: GateState): GateState {
  if (server.phase !== "gated") return gate.run === undefined ? gate : NO_GATE;
  return gate.run === server.run ? gate : { run: server.run, since: now, opened: false, hold: undefined };
}

/** The one that may write leads. A primary without a lease may be an old one, cut off: it leads nobody. */
export function mayLead({ phase, role, holdsLease }: Standing): boolean {
  return phase === "running" && role === "primary" && holdsLease;
}

export function leaderOf({ rules }: Context, peers: ReadonlyMap<string, Standing>): Standing | undefined {
  let leader: Standing | undefined;
  for (const peer of peers.values()) {
    if (rules.mayLead(peer) && peer.tableEpoch > (leader?.tableEpoch ?? -1)) leader = peer;
  }
  return leader;
}

export function tickGate(context: Context, gate: GateState, facts: GateFacts): [GateState, Output[]] {
  if (context.server.phase !== "gated" || gate.opened) return [gate, []];
  const { rules } = context;
  const hold = firstUnmet(facts.leader === undefined ? rules.gateAlone : rules.gateBeside, facts);
  if (hold !== undefined) return [{ ...gate, hold }, []];
  return [{ ...gate, opened: true, hold: undefined }, [openAs(facts)]];
}

/**
 * Who was the primary and was not replaced since starts as it. Everybody else starts as a replica, of a primary that may
 * not run: if its copy is the newest, the rules promote it then, with an epoch above all known.
 */
function openAs({ context, own, peers, leader }: GateFacts): Output {
  const table = leader?.node ?? newestPrimary(peers) ?? context.server.owners[context.self.shard];
  const replaced = [...peers.values()].some(({ tableEpoch }) => tableEpoch > own.tableEpoch);
  const follows = leader !== undefined || !own.primary || replaced;
  const led = leader !== undefined;
  if (!follows || table === undefined || table === own.node)
    return { do: "open-gate", as: "primary", of: undefined, led };
  return { do: "open-gate", as: "replica", of: table, led };
}

function newestPrimary(peers: ReadonlyMap<string, Standing>): string | undefined {
  const primaries = [...peers.values()].filter(({ primary }) => primary);
  return primaries.toSorted((a, b) => b.tableEpoch - a.tableEpoch)[0]?.node;
}
