/**
 * ValkeyNode: one pod with its workload, Service and volume. It is made by the operator alone and decides nothing: its
 * parent (a ValkeyCluster, later others) has written into it everything that is to exist, down to the pod's spec, and
 * when the pod may be replaced. So an upgrade of the operator changes no pod before the parent says so.
 */
import type { V1PodSpec } from "@kubernetes/client-node";
import * as v from "valibot";
import { MAX_MASTERS, MAX_PODS } from "./cluster-spec.ts";
import { conditions, observedGeneration } from "./condition.ts";
import { defineKind, type Resource } from "./kind.ts";
import { nameRule } from "./name.ts";
import { storageSize } from "./quantity.ts";
import {
  choice,
  flag,
  immutable,
  integer,
  listByKey,
  objectName,
  objectNameOrNone,
  opaque,
  rules,
  text,
} from "./schema.ts";

/** A StatefulSet's pods carry `<name>-<hash>` as a label of at most 63 characters. */
export const MAX_NODE_NAME = 52;

const templateMap = (about: string) =>
  v.pipe(v.record(v.string(), text("", 16_384)), v.maxEntries(128), v.description(about));

const podTemplate = v.pipe(
  v.object({
    labels: v.optional(templateMap("Labels of the pod.")),
    annotations: v.optional(templateMap("Annotations of the pod.")),
    spec: opaque<V1PodSpec>("The pod's spec, complete."),
  }),
  v.description("The pod as the parent wants it."),
);

const storage = v.object({
  size: storageSize("Size of the volume; it may grow."),
  storageClassName: v.optional(objectNameOrNone("StorageClass of the volume; absent for the cluster's default.")),
});

const port = v.object({
  name: text("Name of the port.", 15),
  port: integer("Port of Service and pod alike.", 1, 65_535),
});

const fixed = "is immutable: a node keeps its place; the parent makes another node";
const KEPT = "is immutable: the volume holds the data; the parent makes another node";

const specObject = v.object({
  parent: v.pipe(
    v.object({ kind: text("Kind of the parent.", 63), name: objectName("Name of the parent.") }),
    immutable<{ kind: string; name: string }>("is immutable: a node belongs to one parent"),
    v.description("Whose node it is. Immutable."),
  ),
  shard: v.pipe(integer("Number of its shard, from 0. Immutable.", 0, MAX_MASTERS - 1), immutable<number>(fixed)),
  member: v.pipe(
    integer("Its number in the shard, from 0; says nothing about its role. Immutable.", 0, MAX_PODS - 1),
    immutable<number>(fixed),
  ),
  podManagementType: v.pipe(
    choice("Kind of workload that keeps the pod. Immutable.", ["statefulset", "deployment"]),
    immutable<"statefulset" | "deployment">(fixed),
  ),
  suspended: v.optional(flag("Whether the workload is scaled to no pod."), false),
  podTemplate,
  podRevision: text("Hash of what a pod must be replaced for. A pod that carries another one is outdated.", 63),
  replacePod: v.optional(
    text("UID of the pod that the parent allows to be deleted now, so that its successor has the newest revision.", 63),
  ),
  configMapName: v.optional(objectName("ConfigMap with the boot copy of the configuration.")),
  configHash: v.optional(text("Hash of the configuration that the agent has to have applied.", 64)),
  storage: v.optional(
    v.pipe(
      storage,
      rules<v.InferOutput<typeof storage>>({
        rule: "has(self.storageClassName) == has(oldSelf.storageClassName) && (!has(self.storageClassName) || self.storageClassName == oldSelf.storageClassName)",
        message: KEPT,
        fieldPath: ".storageClassName",
      }),
      v.description("Its volume, made apart from the workload so that it can grow. Absent: none."),
    ),
  ),
  service: v.optional(
    v.pipe(
      v.object({
        ports: listByKey("Ports.", 16, ["name"], port),
        annotations: v.optional(templateMap("Annotations of the Service.")),
      }),
      v.description("Its own Service, for a stable name."),
    ),
  ),
});

const spec = v.pipe(
  specObject,
  rules<v.InferOutput<typeof specObject>>({
    rule: "has(self.storage) == has(oldSelf.storage)",
    message: KEPT,
    fieldPath: ".storage",
  }),
  v.description("The pod and what belongs to it."),
);

const pod = v.object({
  name: text("Name of the pod.", 253),
  uid: text("UID of the pod.", 63),
  ip: v.optional(text("Its address.", 64)),
  node: v.optional(text("Node it runs on.", 253)),
  zone: v.optional(text("Zone of that Node.", 63)),
  revision: v.optional(text("The revision it was made of.", 63)),
});

const volume = v.object({
  claim: text("Name of the PersistentVolumeClaim.", 253),
  capacity: v.optional(text("Its size now.", 32)),
  resizing: v.optional(flag("Whether it is growing.")),
});

const status = v.pipe(
  v.object({
    phase: v.optional(choice("Summary in one word.", ["Pending", "Running", "Terminating", "Failed", "Suspended"])),
    observedGeneration,
    message: v.optional(text("Why this phase.", 1024)),
    ready: v.optional(flag("Whether the pod is ready.")),
    pod: v.optional(v.pipe(pod, v.description("The pod that exists."))),
    volume: v.optional(v.pipe(volume, v.description("The volume that exists."))),
    serviceName: v.optional(text("Name of its Service.", 63)),
    nodeId: v.optional(text("Its id in the Valkey cluster.", 40)),
    role: v.optional(choice("What its agent last reported.", ["primary", "replica", "none"])),
    version: v.optional(text("Version of its server.", 64)),
    configHash: v.optional(text("Hash of the configuration that the agent has applied.", 64)),
    conditions,
  }),
  v.description("What exists."),
);

export type ValkeyNodeSpec = v.InferOutput<typeof spec>;
export type ValkeyNodeStatus = v.InferOutput<typeof status>;
export type ValkeyNode = Resource<ValkeyNodeSpec, ValkeyNodeStatus>;

export const valkeyNode = defineKind({
  names: { kind: "ValkeyNode", plural: "valkeynodes", singular: "valkeynode", shortNames: ["vn"] },
  description: "One Valkey pod with its workload, Service and volume. Made by the operator; do not edit.",
  spec,
  status,
  rules: [nameRule(MAX_NODE_NAME)],
  columns: [
    { name: "Parent", type: "string", jsonPath: ".spec.parent.name", description: "Whose node it is" },
    { name: "Shard", type: "integer", jsonPath: ".spec.shard", description: "Number of its shard" },
    { name: "Role", type: "string", jsonPath: ".status.role", description: "What its agent last reported" },
    { name: "Ready", type: "boolean", jsonPath: ".status.ready", description: "Whether the pod is ready" },
    { name: "Pod", type: "string", jsonPath: ".status.pod.name", description: "Name of the pod" },
    { name: "Node", type: "string", jsonPath: ".status.pod.node", description: "Node it runs on", priority: 1 },
    { name: "Zone", type: "string", jsonPath: ".status.pod.zone", description: "Zone it runs in", priority: 1 },
    { name: "Version", type: "string", jsonPath: ".status.version", description: "Version of its server" },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp", description: "Time since creation" },
  ],
});

export const parseValkeyNode: (value: unknown) => ValkeyNode = valkeyNode.parse;
