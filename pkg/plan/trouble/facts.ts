/**
 * What has to be seen of a cluster to say what is wrong with it. The schemas are projections of Kubernetes objects: caches
 * keep these fields and no others.
 *
 * Events are not looked at, with one exception. A StatefulSet whose pod is refused (by a quota, by pod security) says so
 * nowhere but in a Warning event with the reason FailedCreate; a Deployment has a condition ReplicaFailure.
 */
import * as v from "valibot";

const time = v.optional(v.string());

const terminated = v.object({
  reason: v.optional(v.string(), ""),
  exitCode: v.optional(v.number(), 0),
  message: v.optional(v.string()),
  finishedAt: time,
});

const containerStatus = v.object({
  name: v.string(),
  image: v.optional(v.string(), ""),
  ready: v.optional(v.boolean(), false),
  /** False while its startup probe has not succeeded. */
  started: v.optional(v.boolean()),
  restartCount: v.optional(v.number(), 0),
  state: v.optional(
    v.object({
      waiting: v.optional(v.object({ reason: v.optional(v.string(), ""), message: v.optional(v.string()) })),
      running: v.optional(v.object({ startedAt: time })),
      terminated: v.optional(terminated),
    }),
    {},
  ),
  lastState: v.optional(v.object({ terminated: v.optional(terminated) }), {}),
});
export type ContainerFacts = v.InferOutput<typeof containerStatus>;

const condition = v.object({
  type: v.string(),
  status: v.string(),
  reason: v.optional(v.string(), ""),
  message: v.optional(v.string(), ""),
  lastTransitionTime: v.nullish(v.string()),
});

/** Of a pod's `status`. */
export const podStatusFacts = v.object({
  phase: v.optional(v.string(), "Pending"),
  reason: v.optional(v.string()),
  message: v.optional(v.string()),
  startTime: time,
  podIP: v.optional(v.string()),
  conditions: v.optional(v.array(condition), []),
  initContainerStatuses: v.optional(v.array(containerStatus), []),
  containerStatuses: v.optional(v.array(containerStatus), []),
});

/** Of a pod's `spec`. */
export const podSpecFacts = v.object({ nodeName: v.optional(v.string()) });

export interface PodFacts {
  readonly metadata: {
    readonly name: string;
    readonly creationTimestamp?: string | undefined;
    /** When it should be gone: Kubernetes adds the grace period to the time of the request. */
    readonly deletionTimestamp?: string | undefined;
    readonly finalizers?: readonly string[] | undefined;
  };
  readonly spec: v.InferOutput<typeof podSpecFacts>;
  readonly status: v.InferOutput<typeof podStatusFacts>;
}

/** Of a PersistentVolumeClaim's `status`. */
export const claimStatusFacts = v.object({
  phase: v.optional(v.string(), "Pending"),
  capacity: v.optional(v.record(v.string(), v.string()), {}),
  conditions: v.optional(
    v.array(v.object({ type: v.string(), status: v.string(), lastTransitionTime: v.optional(v.string()) })),
    [],
  ),
});

export interface ClaimFacts {
  readonly metadata: {
    readonly name: string;
    readonly creationTimestamp?: string | undefined;
  };
  readonly spec: {
    readonly storageClassName?: string | undefined;
    readonly resources: { readonly requests: Readonly<Record<string, string>> };
  };
  readonly status: v.InferOutput<typeof claimStatusFacts>;
}

/** Of a Deployment's `status`; a StatefulSet has no conditions. */
export const workloadStatusFacts = v.object({ conditions: v.optional(v.array(condition), []) });

export interface WorkloadFacts {
  readonly conditions: readonly v.InferOutput<typeof condition>[];
  /** Note of the newest Warning event FailedCreate about it, if there is one. */
  readonly failedCreate?: string | undefined;
}

/** A Node of Kubernetes. */
export interface MachineFacts {
  readonly ready: boolean;
  /** Since when it is as it is. */
  readonly since?: string | undefined;
}

export interface StorageClassFacts {
  readonly name: string;
  readonly isDefault: boolean;
}

/** What the agent of a node last said. */
export interface AgentFacts {
  /** When it was last heard of, if it does not answer now. */
  readonly silentSince?: string | undefined;
  /** What the server waits for at the gate. */
  readonly waitsFor?: string | undefined;
  readonly needsRestart: readonly string[];
  readonly refusals: readonly { readonly name: string; readonly message: string }[];
  readonly troubles: readonly { readonly reason: string; readonly message: string }[];
}

export interface NodeFacts {
  /** Name of the ValkeyNode. */
  readonly node: string;
  readonly pod?: PodFacts | undefined;
  readonly workload?: WorkloadFacts | undefined;
  readonly claim?: ClaimFacts | undefined;
  readonly agent?: AgentFacts | undefined;
  /** What its ValkeyNode says when its phase is Failed. */
  readonly failed?: string | undefined;
}

export interface ClusterFacts {
  readonly namespace: string;
  readonly nodes: readonly NodeFacts[];
  /** By name. Undefined when the operator may not see Nodes. */
  readonly machines?: ReadonlyMap<string, MachineFacts> | undefined;
  /** Undefined when the operator may not see them. */
  readonly storageClasses?: readonly StorageClassFacts[] | undefined;
  /** What was found while the objects were made: a missing ValkeyClusterTls, users that cannot be read. */
  readonly given?: readonly { readonly reason: string; readonly message: string }[] | undefined;
  /** What the API server answered to the operator's own writes that failed. */
  readonly failures?: readonly string[] | undefined;
}
