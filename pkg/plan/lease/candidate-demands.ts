/** What is demanded of a replica before it may replace its primary. */

import type { CandidateFacts } from "./candidate.ts";
import { shardPeers } from "./context.ts";
import { isNewer, type Standing } from "./copy.ts";
import type { Demand } from "./demand.ts";
import { isInSync } from "./memory.ts";

/** A primary that is outranked and still has a lease is asked again when that has ended. */
const LEASE_IS_OVER: Demand<CandidateFacts> = {
  name: "lease-is-over",
  unmet: ({ own }) => (own.role === "primary" && own.holdsLease ? "it has the write lease as it is" : undefined),
};

const NO_PRIMARY_RUNS: Demand<CandidateFacts> = {
  name: "no-primary-runs",
  unmet: ({ peers, handed, own }) => {
    if (handed !== undefined) return undefined;
    // One with a lower epoch was replaced and does not know it yet.
    const primary = find(
      peers,
      ({ phase, role, tableEpoch }) => phase === "running" && role === "primary" && tableEpoch >= own.tableEpoch,
    );
    return primary === undefined ? undefined : `${primary.node} runs as the primary: the link to it will come back`;
  },
};

const NO_PEER_LINKED: Demand<CandidateFacts> = {
  name: "no-replica-linked",
  unmet: ({ peers, handed, own }) => {
    if (handed !== undefined || own.role === "primary") return undefined;
    const linked = find(peers, ({ phase, role, linkUp }) => phase === "running" && role === "replica" && linkUp);
    return linked === undefined ? undefined : `${linked.node} still gets the primary's writes`;
  },
};

const CAUGHT_UP: Demand<CandidateFacts> = {
  name: "caught-up",
  unmet: ({ own, handed }) =>
    handed === undefined || own.offset >= handed.offset
      ? undefined
      : `it is at ${own.offset}, and the primary that hands over is at ${handed.offset}`,
};

/**
 * A member of the in-sync set may lead when every other member has spoken and none has more. Where the set tells of
 * nobody who could, every copy of the shard must have spoken, and the newest leads.
 */
const MAY_LEAD: Demand<CandidateFacts> = {
  name: "copy-may-lead",
  unmet: (facts) => {
    if (facts.handed !== undefined) return undefined;
    return isInSync(facts.memory.inSync, facts.own.node, facts.own.run) ? bestInSync(facts) : newestOfAll(facts);
  },
};

function bestInSync({ context, memory, own, peers }: CandidateFacts): string | undefined {
  for (const { node, run } of memory.inSync.members) {
    if (node === own.node || context.lost.has(node)) continue;
    const peer = peers.get(node);
    if (peer === undefined) return `${node} was in sync and has not spoken: it may have more`;
    // Restarted since: what it had in memory is gone.
    if (peer.run !== run || peer.phase !== "running") continue;
    if (peer.offset > own.offset) return `${node} is in sync and has more`;
    if (peer.offset === own.offset && peer.member < own.member) return `${node} is as far and goes first`;
  }
  return undefined;
}

function newestOfAll({ context, memory, own, peers }: CandidateFacts): string | undefined {
  const better = find(peers, ({ node, run, phase }) => phase === "running" && isInSync(memory.inSync, node, run));
  if (better !== undefined) return `${better.node} is in sync and goes first`;
  for (const { node } of shardPeers(context)) {
    if (context.lost.has(node)) continue;
    const peer = peers.get(node);
    if (peer === undefined)
      return `this copy is not known to be in sync, and ${node} has not spoken: it may have a newer one`;
    if (isNewer(context.rules.ranks, peer, own)) return `${node} has a newer copy`;
  }
  return undefined;
}

function find(peers: ReadonlyMap<string, Standing>, match: (peer: Standing) => boolean): Standing | undefined {
  for (const peer of peers.values()) if (match(peer)) return peer;
  return undefined;
}

export const CANDIDATE_DEMANDS: readonly Demand<CandidateFacts>[] = [
  LEASE_IS_OVER,
  NO_PRIMARY_RUNS,
  NO_PEER_LINKED,
  CAUGHT_UP,
  MAY_LEAD,
];
