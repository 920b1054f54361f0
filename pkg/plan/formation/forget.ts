/** Ids in the cluster's tables that are no member's: forgotten when they are surely gone, named when they are not. */
import { idsOf, ownsSlots } from "./member.ts";
import type { Runner } from "./shard.ts";
import { without } from "./slots.ts";
import type { ForgetStep, FormationHold } from "./step.ts";
import type { FormationInput, KnownNode } from "./view.ts";

/** A node is held for failed for this long before it is forgotten: an address that changed looks the same at first. */
export const FORGET_AFTER_MS = 15_000;

interface Stranger {
  readonly id: string;
  readonly ip: string;
  /** Whether nobody has a link to it. */
  readonly gone: boolean;
  /** Whether it is said to own a slot that no running member owns. */
  readonly needed: boolean;
  readonly followed: boolean;
  readonly knownBy: readonly Runner[];
}

/** All ids that are no member's, as the running members see them. */
export function strangersIn(input: FormationInput, runners: readonly Runner[]): readonly Stranger[] {
  const members = new Set(input.members.flatMap(idsOf));
  const served = runners.filter(({ table }) => ownsSlots(table)).flatMap(({ table }) => table.slots);
  const sightings = new Map<string, { readonly node: KnownNode; readonly by: Runner }[]>();
  for (const by of runners) {
    for (const node of by.table.nodes) {
      if (members.has(node.id)) continue;
      sightings.set(node.id, [...(sightings.get(node.id) ?? []), { node, by }]);
    }
  }
  return [...sightings].map(([id, seen]) => ({
    id,
    ip: seen[0]?.node.ip ?? "",
    gone: seen.every(({ node }) => node.failed || node.handshake || !node.connected),
    needed: seen.some(({ node }) => node.slots.some((range) => without(range, served).length > 0)),
    followed: runners.some(({ table }) => table.primaryId === id),
    knownBy: seen.map(({ by }) => by),
  }));
}

/** Ids to be watched: for how long each has looked gone is what decides. */
export function goneStrangers(input: FormationInput, runners: readonly Runner[]): readonly string[] {
  return strangersIn(input, runners)
    .filter(({ gone }) => gone)
    .map(({ id }) => id);
}

export interface ForgetPlan {
  readonly steps: readonly ForgetStep[];
  readonly holds: readonly FormationHold[];
}

/**
 * Only to be asked when every shard is led: forgetting must not race an election. A dead id may still be taken for the
 * owner of slots by one whose table is old; who forgets it then hears the owner's claim.
 */
export function planForgetting(input: FormationInput, runners: readonly Runner[]): ForgetPlan {
  const strangers = strangersIn(input, runners);
  const due = strangers.filter(
    ({ id, gone, needed, followed }) =>
      gone && !needed && !followed && (input.strangersForMs.get(id) ?? 0) >= FORGET_AFTER_MS,
  );
  const steps = runners.flatMap(({ member, table }): ForgetStep[] => {
    const nodeIds = due.filter(({ id }) => table.nodes.some((node) => node.id === id)).map(({ id }) => id);
    if (nodeIds.length === 0 || member.busy !== undefined) return [];
    return [{ do: "forget", node: member.name, lane: member.name, nodeIds }];
  });
  return { steps, holds: strangers.filter(({ gone }) => !gone).map(strangerHold) };
}

function strangerHold({ id, ip, knownBy }: Stranger): FormationHold {
  const by = knownBy[0]?.member.name ?? "a member";
  return {
    name: "stranger-in-cluster",
    reason: `${by} is connected to node ${id} at ${ip}, which belongs to no member: that of a pod that was replaced goes by itself; one that stays and is not yours, remove with CLUSTER FORGET`,
  };
}
