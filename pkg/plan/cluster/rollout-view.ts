/** The cluster as a rolling change sees it. */
import { electable } from "../formation/acquainted.ts";
import { tableOf } from "../formation/member.ts";
import { templateChanges } from "../lifecycle/template-changes.ts";
import type { DesiredNode } from "../objects/types.ts";
import { versionOfTag } from "../rollout/version.ts";
import type { RolloutView } from "../rollout/view.ts";
import { memberOf } from "./members.ts";
import { needsMount, needsRestart, rolloutMember } from "./rollout-member.ts";
import type { ClusterView, NodeNow } from "./view.ts";

/** Nodes that are there and not wanted are no part of it. */
export function rolloutView(view: ClusterView, failover: string | undefined, now: Date): RolloutView {
  const { update, valkeyImage, pvc, backup } = view.effective.spec;
  const { configuration } = view.desired;
  const tables = view.nodes.map((node) => tableOf(memberOf(node, now)));
  const wish = { configuration, now, electable: electable(tables.filter((table) => table !== undefined)) };
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
