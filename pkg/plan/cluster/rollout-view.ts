/** The cluster as a rolling change sees it. */
import { electable } from "../formation/acquainted.ts";
import { ownsSlots, tableOf } from "../formation/member.ts";
import type { MeetStep } from "../formation/step.ts";
import type { ClusterTable } from "../formation/view.ts";
import { templateChanges } from "../lifecycle/template-changes.ts";
import type { DesiredNode } from "../objects/types.ts";
import { versionOfTag } from "../rollout/version.ts";
import type { RolloutView } from "../rollout/view.ts";
import { memberOf } from "./members.ts";
import { needsMount, needsRestart, rolloutMember } from "./rollout-member.ts";
import type { ClusterView, NodeNow } from "./view.ts";

/**
 * Who is introduced to a server that it knows loses its connection to it for a moment (the two have one more, and give up
 * the wrong one), and a vote that goes over it is lost.
 */
const INTRODUCED_MS = 250;

/** Pairs of nodes that are just being introduced, or are about to be. */
export function introductions(nodes: readonly NodeNow[], steps: readonly MeetStep[]): readonly Introduction[] {
  const made = nodes.flatMap(({ name, agent }) => agent.met.map(({ node, msAgo }) => ({ nodes: [name, node], msAgo })));
  const coming = steps.flatMap(({ node, peers }) => peers.map((peer) => ({ nodes: [node, peer], msAgo: 0 })));
  return [...made.filter(({ msAgo }) => msAgo < INTRODUCED_MS), ...coming];
}

export interface Introduction {
  readonly nodes: readonly string[];
  readonly msAgo: number;
}

/** In how long everybody's connections are as agents say; undefined when they are. */
export function settledInMs(introduced: readonly Introduction[]): number | undefined {
  return introduced.length === 0 ? undefined : INTRODUCED_MS - Math.min(...introduced.map(({ msAgo }) => msAgo));
}

/** Nodes that are there and not wanted are no part of it. */
export function rolloutView(
  view: ClusterView,
  failover: string | undefined,
  introduced: readonly Introduction[],
  now: Date,
): RolloutView {
  const { update, valkeyImage, pvc, backup } = view.effective.spec;
  const { configuration } = view.desired;
  const wish = { configuration, now, electable: electableNow(view.nodes, introduced, now) };
  return {
    members: pairs(view).map(([place, wanted]) => rolloutMember(place, { ...wish, wanted })),
    strategy: update.strategy,
    maxUnavailable: update.maxUnavailable,
    canarySeconds: update.canarySeconds,
    window: update.window,
    wantedVersion: versionOfTag(valkeyImage.tag),
    keepsData: pvc !== undefined && (backup.aof.enabled || backup.database.enabled),
    failover,
    now,
  };
}

/** Whoever is being introduced to a primary may lose its vote. */
function electableNow(nodes: readonly NodeNow[], introduced: readonly Introduction[], now: Date): ReadonlySet<string> {
  const members = nodes.map((node) => memberOf(node, now));
  const tables = new Map(members.map((member) => [member.name, tableOf(member)]));
  const primaries = new Set(nodes.filter(({ name }) => isOwner(tables.get(name))).map(({ name }) => name));
  const shaken = introduced.flatMap((one) => (one.nodes.some((name) => primaries.has(name)) ? one.nodes : []));
  const fit = electable(members);
  const without = new Set(shaken.filter((name) => !primaries.has(name)).map((name) => tables.get(name)?.id));
  return new Set([...fit].filter((id) => !without.has(id)));
}

function isOwner(table: ClusterTable | undefined): boolean {
  return table !== undefined && ownsSlots(table);
}

function pairs({ nodes, desired }: ClusterView): readonly (readonly [NodeNow, DesiredNode])[] {
  const byName = new Map(nodes.map((node) => [node.name, node]));
  return desired.nodes.flatMap((wanted) => {
    const place = byName.get(wanted.metadata.name);
    return place === undefined ? [] : [[place, wanted] as const];
  });
}

/** What pods have to be replaced for, in words. */
export function rolloutChanges(view: ClusterView, now: Date): readonly string[] {
  const templates = pairs(view).flatMap(([{ node }, { spec }]) =>
    node === undefined || node.spec.podRevision === spec.podRevision
      ? []
      : templateChanges(node.spec.podTemplate, spec.podTemplate),
  );
  const settings = view.nodes
    .filter((place) => needsRestart(place, view.desired.configuration))
    .flatMap(({ agent }) => (agent.facts?.needsRestart ?? []).map((name) => `setting ${name}`));
  const volumes = view.nodes.some((place) => needsMount(place, now)) ? ["volumes that have grown"] : [];
  return [...new Set([...templates, ...settings, ...volumes])].toSorted();
}
