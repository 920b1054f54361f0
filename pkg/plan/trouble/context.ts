/** What every look at a node has at hand. */
import type { ClusterFacts, NodeFacts, PodFacts } from "./facts.ts";
import type { Patience } from "./patience.ts";

export interface NodeContext {
  readonly node: NodeFacts;
  readonly facts: ClusterFacts;
  readonly patience: Patience;
}

export interface PodContext extends NodeContext {
  readonly pod: PodFacts;
}

/** `kubectl describe pod c-0-0-0 -n team`, for one of the pods it is about. */
export function describePod({ pod, facts }: PodContext): string {
  return `kubectl describe pod ${pod.metadata.name} -n ${facts.namespace}`;
}
