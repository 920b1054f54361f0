/**
 * What the plugin reads of the cluster: ValkeyClusters, their ValkeyNodes and pods. Read with patience: an operator newer
 * than this plugin may say things that it does not know, and an older one may not say everything.
 */
import * as v from "valibot";
import { type KubeObject, ObjectMetaSchema, PODS, type Resource, typed } from "../pkg/kube/resource.ts";

const GROUP = "valkey.io";
const VERSION = "v1alpha1";

const text = v.fallback(v.optional(v.string()), undefined);
const number = v.fallback(v.optional(v.number()), undefined);
const flag = v.fallback(v.optional(v.boolean()), undefined);
const none: readonly never[] = [];

function many<T extends v.GenericSchema>(item: T) {
  return v.fallback(
    v.optional(v.array(item), () => [...none]),
    () => [...none],
  );
}

const condition = v.object({
  type: v.string(),
  status: v.string(),
  reason: text,
  message: text,
  lastTransitionTime: text,
});
const step = v.object({ step: v.string(), message: text, progress: number, since: text });
const hold = v.object({ predicate: v.string(), message: v.string(), since: text });
const trouble = v.object({ reason: v.string(), message: v.string(), severity: text, nodes: number });
const replica = v.object({ name: v.string(), lagBytes: number, inSync: flag });
const shard = v.object({ index: v.number(), primary: text, replicas: many(replica), slots: text, zone: text });

const rollout = v.object({ pods: number, updated: number, next: text, changes: text, since: text });
const failover = v.object({
  id: v.string(),
  shard: v.number(),
  from: text,
  to: text,
  phase: v.string(),
  writesWaitedMs: number,
  message: v.fallback(v.string(), ""),
});

const clusterStatus = v.object({
  phase: text,
  reason: text,
  message: text,
  observedGeneration: number,
  masterCount: number,
  readyMasters: number,
  pods: number,
  readyPods: number,
  slotsAssigned: number,
  version: text,
  shards: many(shard),
  plan: many(step),
  holds: many(hold),
  troubles: many(trouble),
  conditions: many(condition),
  rollout: v.fallback(v.optional(rollout), undefined),
  failover: v.fallback(v.optional(failover), undefined),
  tls: v.fallback(v.optional(v.object({ enabled: flag, certificateStatus: text, notAfter: text })), undefined),
  acl: v.fallback(
    v.optional(v.object({ enabled: flag, synced: flag, users: many(v.object({ name: v.string() })) })),
    undefined,
  ),
});
export type ClusterStatus = v.InferOutput<typeof clusterStatus>;

const cluster = v.object({
  metadata: ObjectMetaSchema,
  spec: v.fallback(
    v.object({ masterCount: number, replicasPerMaster: number, suspended: flag, tls: text, acl: text }),
    {},
  ),
  status: v.fallback(v.optional(clusterStatus), undefined),
});
export type ClusterObject = v.InferOutput<typeof cluster> & KubeObject;

const podOfNode = v.object({ name: text, ip: text, node: text, zone: text });
const nodeStatus = v.object({
  phase: text,
  message: text,
  ready: flag,
  role: text,
  version: text,
  pod: v.fallback(v.optional(podOfNode, {}), {}),
});

const node = v.object({
  metadata: ObjectMetaSchema,
  spec: v.object({ shard: v.number(), member: v.number(), suspended: flag }),
  status: v.fallback(v.optional(nodeStatus, { pod: {} }), { pod: {} }),
});
export type NodeObject = v.InferOutput<typeof node> & KubeObject;

const state = v.fallback(
  v.optional(
    v.object({ waiting: v.optional(v.object({ reason: text })), terminated: v.optional(v.object({ reason: text })) }),
  ),
  undefined,
);
const pod = v.object({
  metadata: ObjectMetaSchema,
  spec: v.object({ nodeName: text }),
  status: v.fallback(
    v.object({
      phase: text,
      conditions: many(condition),
      containerStatuses: many(v.object({ name: v.string(), restartCount: number, state })),
      initContainerStatuses: many(v.object({ name: v.string(), restartCount: number, state })),
    }),
    { phase: undefined, conditions: [], containerStatuses: [], initContainerStatuses: [] },
  ),
});
export type PodObject = v.InferOutput<typeof pod> & KubeObject;

const ours = (plural: string, kind: string) => ({ group: GROUP, version: VERSION, plural, kind, namespaced: true });

export const CLUSTERS: Resource<ClusterObject> = typed(ours("valkeyclusters", "ValkeyCluster"), (value) =>
  v.parse(cluster, value),
);
export const NODES_OF_CLUSTERS: Resource<NodeObject> = typed(ours("valkeynodes", "ValkeyNode"), (value) =>
  v.parse(node, value),
);
export const VALKEY_PODS: Resource<PodObject> = typed(PODS, (value) => v.parse(pod, value));

/** Selects what belongs to a cluster. */
export function ofCluster(name: string): string {
  return `valkey.io/cr=${name},valkey.io/kind=valkeycluster`;
}
