/** Spares as a rolling change asks for them: their ValkeyNodes come and go, and their volumes go with them. */
import { spareOf } from "../objects/members.ts";
import { nodeName } from "../objects/names.ts";
import type { RolloutPlan } from "../rollout/rollout.ts";
import type { ApplyStep } from "./apply-steps.ts";
import type { ClusterView } from "./view.ts";

export type SpareStep =
  | ApplyStep
  | { readonly do: "delete-node" | "delete-claim"; readonly name: string; readonly lane: string };

export function spareSteps(view: ClusterView, { addSpares, retire }: RolloutPlan): readonly SpareStep[] {
  const added = view.desired.spares.filter(({ spec }) => addSpares.has(spec.shard));
  const going = view.nodes.filter(
    ({ name, node }) => retire.has(name) && node?.metadata.deletionTimestamp === undefined,
  );
  return [
    ...added.map((object): SpareStep => ({ do: "apply", object, lane: object.metadata.name })),
    ...going.map(({ name }): SpareStep => ({ do: "delete-node", name, lane: name })),
    ...leftClaims(view).map((name): SpareStep => ({ do: "delete-claim", name, lane: name })),
  ];
}

/** Of spares whose node and pods are gone: everything that was on them is on those that stay. */
function leftClaims({ cluster, effective, claims, nodes, pods }: ClusterView): readonly string[] {
  const shards = Array.from({ length: effective.spec.masterCount }, (_, shard) => shard);
  const spares = new Set(shards.map((shard) => nodeName(cluster.metadata.name, spareOf(shard))));
  const used = new Set([...nodes.map(({ name }) => name), ...pods.map(({ node }) => node)]);
  return claims.filter(({ node, going }) => spares.has(node) && !used.has(node) && !going).map(({ name }) => name);
}
