/** What is seen of a ValkeyNode before anything is decided about it. */
import type { Labels } from "../objects/names.ts";
import type { PodFacts } from "../trouble/facts.ts";

/** A pod of the node. */
export interface NodePod extends PodFacts {
  readonly metadata: PodFacts["metadata"] & {
    readonly uid?: string | undefined;
    readonly labels?: Labels | undefined;
    readonly annotations?: Labels | undefined;
  };
}

export interface ClaimView {
  /** What was asked for when it was made, or since. */
  readonly requested?: string | undefined;
  /** What there is. */
  readonly capacity?: string | undefined;
  readonly resizing: boolean;
  readonly terminating: boolean;
}

/** The fields of a workload that cannot be changed. */
export interface WorkloadView {
  readonly serviceName?: string | undefined;
  readonly podManagementPolicy?: string | undefined;
  readonly selector: Labels;
  readonly terminating: boolean;
}

/** What the agent last said of its server. */
export interface ReportView {
  readonly nodeId?: string | undefined;
  readonly role: "primary" | "replica" | "none";
  readonly version?: string | undefined;
  readonly configHash?: string | undefined;
}

/** A stranger's change of something of ours that was put back. */
export interface Drift {
  readonly at: Date;
  /** In words: `StatefulSet shop-0-0: spec.replicas`. */
  readonly what: string;
}

export interface NodeView {
  readonly claim?: ClaimView | undefined;
  readonly workload?: WorkloadView | undefined;
  /** ConfigMaps and Secrets that the pod mounts and that are not there: `Secret shop-0-0-identity`. */
  readonly missing: readonly string[];
  readonly pods: readonly NodePod[];
  /** Of the Node that the pod runs on. */
  readonly zone?: string | undefined;
  /** Undefined when the agent was not heard of since this operator leads. */
  readonly report?: ReportView | undefined;
  /** For how long the agent has said of its server that it has this role. */
  readonly roleForMs: number;
  /** The last that this operator has repaired. */
  readonly drift?: Drift | undefined;
}

/** The pod that counts: one that stays before one that goes. */
export function podOf({ pods }: Pick<NodeView, "pods">): NodePod | undefined {
  return pods.find(({ metadata }) => metadata.deletionTimestamp === undefined) ?? pods[0];
}

export function isReady({ status }: NodePod): boolean {
  return status.conditions.some(({ type, status }) => type === "Ready" && status === "True");
}
