/**
 * What a ValkeyCluster is when nobody says otherwise. Fields that are absent here are off or left to the operator:
 * `tls`, `acl`, `azDistribution` and a volume come only when asked for, and `sidecarImage` is the operator's own release.
 */
import type { ValkeyClusterSpec } from "./cluster-spec.ts";

export const BUILT_IN_DEFAULTS = {
  valkeyImage: { name: "valkey/valkey", tag: "9.1", imagePullSecrets: [] },
  masterCount: 3,
  replicasPerMaster: 1,
  suspended: false,
  unbound: false,
  cluster: {
    nodeTimeout: "5s",
    replicaReadOnly: true,
    allowReadsWhenDown: false,
    migrationBarrier: 1,
    requireFullCoverage: false,
  },
  azDistribution: { nodeLabel: "topology.kubernetes.io/zone", replicaStrategy: "anti-affinity" },
  replication: { disklessSync: true, minReplicasToWrite: 0, minReplicasMaxLag: 10 },
  rebalance: { by: "Slots", automatic: true },
  operatorMtls: { clientCertValidity: "90d", rotateBeforePercent: 66 },
  update: { strategy: "Rolling", maxUnavailable: 1, canarySeconds: 0, window: "" },
  resources: { requests: { memory: "1Gi", cpu: "500m" }, limits: { memory: "1Gi", cpu: "500m" } },
  securityContext: { runAsUser: 1000, runAsGroup: 1000, fsGroup: 1000 },
  podManagementType: "statefulset",
  pvc: { whenDeleted: "Retain", whenScaled: "Retain" },
  backup: {
    database: { enabled: true, save: "60 100" },
    aof: { enabled: true, appendfsync: "everysec", autoAofRewritePercentage: 100, autoAofRewriteMinSize: "64mb" },
  },
  service: { type: "ClusterIP", annotations: {} },
  readService: { enabled: false },
  networkPolicy: { enabled: false },
  exporter: {
    enabled: true,
    image: { name: "oliver006/redis_exporter", tag: "v1.74.0", imagePullSecrets: [] },
    port: 9121,
    resources: {},
  },
} as const satisfies DeepReadonly<ValkeyClusterSpec>;

type DeepReadonly<T> = T extends readonly (infer Item)[]
  ? readonly DeepReadonly<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> }
    : T;
