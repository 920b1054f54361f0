/**
 * The spec of a ValkeyCluster, field by field. Every field may be left out and none has a default in the CRD, because a
 * default filled in by the API server could not be told from the user's own word, and ValkeyClusterDefaults could then
 * never supply it (see resolve.ts). The groups of fields are kept apart from their optionality: the CRD takes them with
 * everything optional, a resolved spec with everything given.
 */
import * as v from "valibot";
import { cronWindow } from "./cron.ts";
import { shortTime, validity } from "./duration.ts";
import {
  affinity,
  annotations,
  image,
  imageEntries,
  labels,
  nodeSelector,
  resources,
  securityContext,
  tolerations,
  topologySpreadConstraints,
} from "./pod.ts";
import { configSize, storageSize } from "./quantity.ts";
import { choice, flag, immutable, integer, objectNameOrNone, openapi, rules, section, shaped } from "./schema.ts";
import { valkeyConfig } from "./valkey-config.ts";

/** All pods of one cluster; gossip grows with the square of it. */
export const MAX_PODS = 1000;
export const MIN_MASTERS = 3;
export const MAX_MASTERS = 500;
const MAX_REPLICAS = Math.floor(MAX_PODS / MIN_MASTERS) - 1;

export const groups = {
  cluster: {
    nodeTimeout: v.pipe(
      shortTime("How long a node may be silent before the others hold it for failed: 1s to 10m."),
      rules<string>({
        rule: "!self.matches('^[1-9][0-9]{0,3}(s|m)$') || duration(self) <= duration('10m')",
        message: "must be between 1s and 10m",
      }),
    ),
    replicaReadOnly: flag("Whether replicas refuse writes of clients."),
    allowReadsWhenDown: flag("Whether a node answers reads while the cluster is down."),
    migrationBarrier: integer(
      "Accepted and without effect: replicas are placed by the operator and never migrate.",
      0,
      1000,
    ),
    requireFullCoverage: flag("Whether all shards stop when one of them is lost."),
  },
  azDistribution: {
    zones: v.pipe(
      v.array(shaped("", 63, /^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$/, "must be the value of a Node's zone label")),
      v.maxLength(32),
      openapi<string[]>({ "x-kubernetes-list-type": "set" }),
      v.description("Zones to use, in the order in which primaries are placed; empty for a soft spread over all."),
    ),
    nodeLabel: shaped(
      "Node label that holds the zone.",
      317,
      /^[A-Za-z0-9]([A-Za-z0-9._/-]*[A-Za-z0-9])?$/,
      "must be a label key such as topology.kubernetes.io/zone",
    ),
    replicaStrategy: choice(
      "anti-affinity: a shard's pods never share a zone. spread: they are spread evenly as far as zones go.",
      ["anti-affinity", "spread"],
    ),
  },
  replication: {
    disklessSync: flag("Whether a full sync goes over the network without a file on the primary."),
    minReplicasToWrite: integer("Replicas that must be connected for a primary to accept writes.", 0, MAX_REPLICAS),
    minReplicasMaxLag: integer("Seconds of silence after which a replica no longer counts as connected.", 1, 3600),
  },
  rebalance: {
    by: choice("What is made even between shards.", ["Slots", "Keys", "Load"]),
    automatic: flag("Whether slots are moved without being asked for when shards were added or differ too much."),
  },
  operatorMtls: {
    clientCertValidity: validity("How long the certificates between operator and agents live."),
    rotateBeforePercent: integer("Percent of its life after which a certificate is renewed.", 66, 80),
  },
  update: {
    strategy: choice(
      "Rolling: replicas first, then a handover and the old primary. Surge: a new pod joins before an old one leaves.",
      ["Rolling", "Surge"],
    ),
    maxUnavailable: integer("Shards that may have a pod down at once.", 1, MAX_MASTERS),
    canarySeconds: integer("How long the first updated shard is watched before the others follow.", 0, 86_400),
    window: cronWindow("When restarts that can wait are done: five cron fields, UTC. Empty for any time."),
  },
  pvc: {
    storageSize: storageSize("Size of each pod's volume; it may grow."),
    storageClassName: v.pipe(
      objectNameOrNone("StorageClass of the volumes; empty for the cluster's default. Immutable."),
      immutable<string>("is immutable: a volume cannot change its class; make a new ValkeyCluster and move the data"),
    ),
    whenDeleted: choice("What becomes of the volumes when the ValkeyCluster is deleted.", ["Retain", "Delete"]),
    whenScaled: choice("What becomes of the volumes of pods that scaling took away.", ["Retain", "Delete"]),
  },
  database: {
    enabled: flag("Whether snapshots are written."),
    save: shaped(
      "Seconds and changes after which one is written, in pairs.",
      128,
      /^[1-9][0-9]{0,8} [1-9][0-9]{0,8}( [1-9][0-9]{0,8} [1-9][0-9]{0,8})*$/,
      "must be pairs of seconds and changes, for example '60 100' or '3600 1 300 100'",
    ),
  },
  aof: {
    enabled: flag("Whether every write goes to the append-only file."),
    appendfsync: choice("When the file is forced to disk.", ["always", "everysec", "no"]),
    autoAofRewritePercentage: integer("Growth in percent after which the file is rewritten; 0 for never.", 0, 100_000),
    autoAofRewriteMinSize: configSize("Size below which the file is not rewritten."),
  },
  service: {
    type: choice("Type of the Service for clients.", ["ClusterIP", "NodePort", "LoadBalancer"]),
    annotations: annotations("Annotations of the Service for clients."),
  },
  readService: { enabled: flag("Whether a Service for reads from replicas is made.") },
  networkPolicy: { enabled: flag("Whether a NetworkPolicy admits only clients, the cluster itself and the operator.") },
  exporter: {
    enabled: flag("Whether a Prometheus exporter runs in each pod."),
    image: image("Image of the exporter."),
    port: v.pipe(
      integer("Port of the exporter.", 1024, 65_535),
      rules<number>({
        rule: "!(self in [6379, 16379])",
        message: "6379 and 16379 are Valkey's own: use another port, for example 9121",
      }),
    ),
    resources: resources("What the exporter may use."),
  },
  image: imageEntries,
} as const;

const PVC_KEPT = "cannot be removed once set: the class of existing volumes does not change; put the old value back";

const entries = {
  valkeyImage: image("Image of the Valkey server, 8.0 or newer."),
  masterCount: integer("Number of shards, each with one primary.", MIN_MASTERS, MAX_MASTERS),
  replicasPerMaster: integer("Replicas of each primary. With 0 a lost pod is a lost shard.", 0, MAX_REPLICAS),
  suspended: flag("Stops all pods and keeps the volumes."),
  unbound: flag("Hands everything over to you: the operator no longer touches this cluster."),
  cluster: section("Settings of the cluster protocol.", groups.cluster),
  azDistribution: section(
    "Which zones are used, and how. Absent: a soft spread over zones and nodes.",
    groups.azDistribution,
  ),
  replication: section("How replicas are fed and what primaries ask of them.", groups.replication),
  rebalance: section("How slots are spread over the shards.", groups.rebalance),
  tls: objectNameOrNone(
    "Name of a ValkeyClusterTls in the same namespace. Absent or empty: no TLS (between operator and agents TLS is always on).",
  ),
  acl: objectNameOrNone("Name of a ValkeyClusterAcl in the same namespace. Absent or empty: no users, no passwords."),
  operatorMtls: section("Certificates between operator and agents.", groups.operatorMtls),
  update: section("How changes that need a restart are rolled out.", groups.update),
  ...affinity,
  nodeSelector,
  tolerations,
  topologySpreadConstraints,
  priorityClassName: objectNameOrNone("PriorityClass of the pods."),
  serviceAccountName: objectNameOrNone("ServiceAccount of the pods; its token is not mounted."),
  resources: resources(
    "What the Valkey container may use. Given here it is taken whole: nothing of a default is mixed in.",
  ),
  labels,
  annotations: annotations("Annotations added to the pods."),
  securityContext,
  podManagementType: v.pipe(
    choice("Kind of workload that keeps each pod. Immutable.", ["statefulset", "deployment"]),
    immutable<"statefulset" | "deployment">("is immutable: make a new ValkeyCluster and move the data"),
  ),
  pvc: v.pipe(
    section("Volume of each pod. There is one when storageSize is set here or by a default.", groups.pvc),
    rules<object>({
      rule: "!has(oldSelf.storageClassName) || has(self.storageClassName)",
      message: PVC_KEPT,
      fieldPath: ".storageClassName",
    }),
  ),
  backup: v.pipe(
    v.partial(
      v.object({
        database: section("Snapshots (RDB).", groups.database),
        aof: section("Append-only file.", groups.aof),
      }),
    ),
    v.description("Valkey's own persistence."),
  ),
  config: valkeyConfig,
  service: section("Service for clients.", groups.service),
  readService: section("Service for reads from replicas.", groups.readService),
  networkPolicy: section("Who may reach the pods.", groups.networkPolicy),
  sidecarImage: image("Image of the agent. Default: the one of the operator's own release."),
  exporter: section("Prometheus exporter in each pod.", groups.exporter),
} as const;

export const clusterSpecObject = v.partial(v.object(entries));
export type ValkeyClusterSpec = v.InferOutput<typeof clusterSpecObject>;

/** Rules between fields, the same for a ValkeyCluster and for defaults. */
export const clusterSpecRules = rules<ValkeyClusterSpec>(
  {
    rule: `!has(self.masterCount) || !has(self.replicasPerMaster) || self.masterCount * (1 + self.replicasPerMaster) <= ${MAX_PODS}`,
    message: `with replicasPerMaster makes too many pods: masterCount x (1 + replicasPerMaster) must be at most ${MAX_PODS}`,
    fieldPath: ".masterCount",
  },
  {
    rule: "!has(self.replicasPerMaster) || !has(self.replication) || !has(self.replication.minReplicasToWrite) || self.replication.minReplicasToWrite <= self.replicasPerMaster",
    message: "must not be greater than replicasPerMaster, or no primary would ever accept a write",
    fieldPath: ".replication.minReplicasToWrite",
  },
  {
    rule: "!has(self.replicasPerMaster) || !has(self.azDistribution) || !has(self.azDistribution.zones) || self.azDistribution.zones.size() == 0 || !has(self.azDistribution.replicaStrategy) || self.azDistribution.replicaStrategy != 'anti-affinity' || self.replicasPerMaster < self.azDistribution.zones.size()",
    message:
      "anti-affinity needs a zone for each pod of a shard: give more zones than replicasPerMaster, or use replicaStrategy: spread",
    fieldPath: ".azDistribution.zones",
  },
);

export const clusterSpecTransitions = rules<ValkeyClusterSpec>({
  rule: "!has(oldSelf.pvc) || has(self.pvc)",
  message: "cannot be removed once set: the volumes hold the data; put it back",
  fieldPath: ".pvc",
});
