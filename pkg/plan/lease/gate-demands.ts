/** What is demanded before a server passes the gate. */
import { shardPeers } from "./context.ts";
import { holdsMore, isNewer } from "./copy.ts";
import type { Demand } from "./demand.ts";
import type { GateFacts } from "./gate.ts";

const NOT_NEWER_THAN_PRIMARY: Demand<GateFacts> = {
  name: "not-newer-than-primary",
  unmet: ({ own, leader }) =>
    leader !== undefined && holdsMore(own, leader)
      ? `its copy is newer than that of ${leader.node}, which leads: following it would throw that away`
      : undefined,
};

const ALL_HAVE_SPOKEN: Demand<GateFacts> = {
  name: "all-have-spoken",
  unmet: ({ context, peers }) => {
    const silent = shardPeers(context).filter(({ node }) => !peers.has(node) && !context.lost.has(node));
    return silent.length === 0 ? undefined : `waits for the word of ${silent.map(({ node }) => node).join(", ")}`;
  },
};

const NO_PRIMARY_RUNS: Demand<GateFacts> = {
  name: "no-primary-without-lease",
  unmet: ({ own, peers }) => {
    // One with a lower epoch was replaced and does not know it yet.
    const running = [...peers.values()].find(
      ({ phase, role, tableEpoch }) => phase === "running" && role === "primary" && tableEpoch >= own.tableEpoch,
    );
    return running === undefined ? undefined : `${running.node} runs as the primary and has no lease yet`;
  },
};

const NEWEST: Demand<GateFacts> = {
  name: "newest-copy",
  unmet: ({ context, own, peers }) => {
    // Where nobody has anything there is nothing to lose, and all may begin at once.
    if (!own.hasData && [...peers.values()].every(({ hasData }) => !hasData)) return undefined;
    const newer = [...peers.values()].find((peer) => isNewer(context.rules.ranks, peer, own));
    return newer === undefined ? undefined : `${newer.node} has a newer copy and leads`;
  },
};

/** Beside a primary that holds the lease. */
export const GATE_BESIDE_DEMANDS: readonly Demand<GateFacts>[] = [NOT_NEWER_THAN_PRIMARY];

/** With nobody to follow. */
export const GATE_ALONE_DEMANDS: readonly Demand<GateFacts>[] = [ALL_HAVE_SPOKEN, NO_PRIMARY_RUNS, NEWEST];
