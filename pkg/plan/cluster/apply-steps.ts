/** Which objects of a cluster have to be applied. */
import { nodeSpecNow } from "../lifecycle/template.ts";
import type { DesiredNode, DesiredObject } from "../objects/types.ts";
import { needsMount, needsRestart } from "./rollout-member.ts";
import type { ClusterView, NodeNow } from "./view.ts";

export interface ApplyStep {
  readonly do: "apply";
  readonly object: DesiredObject;
  readonly lane: string;
}

/** Requests to the API server side by side. */
const LANES = 16;

type NodeSpec = DesiredNode["spec"];

export interface NodeRules {
  readonly now: Date;
  /** Whether the pod of a node may be replaced now, or made as the spec asks for. */
  readonly mayReplace: (node: NodeNow) => boolean;
  /** Has the last word. */
  readonly change: (node: NodeNow, spec: NodeSpec) => NodeSpec;
}

/** What is as wanted already is left out. */
export function applySteps(view: ClusterView, rules: NodeRules): readonly ApplyStep[] {
  const nodes = new Map(view.nodes.map((node) => [node.name, node]));
  const isNode = new Set<DesiredObject>(view.desired.nodes);
  const objects = [
    ...view.desired.objects.filter((each) => !isNode.has(each)),
    ...view.desired.nodes.map((wanted) => nodeObject(view, wanted, { now: nodes.get(wanted.metadata.name), rules })),
  ];
  return objects
    .filter((object) => !view.isSettled(object))
    .map((object, index): ApplyStep => ({ do: "apply", object, lane: `apply-${index % LANES}` }));
}

interface NodeWish {
  readonly now: NodeNow | undefined;
  readonly rules: NodeRules;
}

function nodeObject(view: ClusterView, wanted: DesiredNode, { now, rules }: NodeWish): DesiredNode {
  if (now === undefined) return wanted;
  const { node, pod } = now;
  const allowed = nodeSpecNow(wanted.spec, {
    existing: node?.spec,
    podUid: pod?.metadata.uid,
    podGoing: pod?.metadata.deletionTimestamp !== undefined,
    podRevision: pod?.revision,
    mayReplace: rules.mayReplace(now),
    restart: needsRestart(now, view.desired.configuration) || needsMount(now, rules.now),
  });
  const spec = rules.change(now, allowed);
  return spec === wanted.spec ? wanted : { ...wanted, spec };
}
