/** ValkeyCluster: one Valkey cluster with server-side sharding. */
import * as v from "valibot";
import { clusterSpecObject, clusterSpecRules, clusterSpecTransitions, type ValkeyClusterSpec } from "./cluster-spec.ts";
import { clusterStatus, type ValkeyClusterStatus } from "./cluster-status.ts";
import { BUILT_IN_DEFAULTS } from "./defaults.ts";
import { defineKind, type Resource } from "./kind.ts";
import { nameRule } from "./name.ts";

export type { ValkeyClusterSpec } from "./cluster-spec.ts";
export type { ValkeyClusterStatus } from "./cluster-status.ts";
export type ValkeyCluster = Resource<ValkeyClusterSpec, ValkeyClusterStatus>;

/** A StatefulSet's pods carry `<name>-<hash>` as a label of 63 characters: `<cluster>-499-999-<hash>` has to fit. */
export const MAX_CLUSTER_NAME = 40;

export const valkeyCluster = defineKind({
  names: { kind: "ValkeyCluster", plural: "valkeyclusters", singular: "valkeycluster", shortNames: ["vc"] },
  description: "A Valkey cluster with server-side sharding.",
  spec: v.pipe(
    clusterSpecObject,
    clusterSpecRules,
    clusterSpecTransitions,
    v.description("The cluster as it should be."),
  ),
  operatorDefaults: BUILT_IN_DEFAULTS,
  status: clusterStatus,
  rules: [nameRule(MAX_CLUSTER_NAME)],
  scale: {
    specReplicasPath: ".spec.masterCount",
    statusReplicasPath: ".status.masterCount",
    labelSelectorPath: ".status.selector",
  },
  columns: [
    { name: "Phase", type: "string", jsonPath: ".status.phase", description: "Summary in one word" },
    { name: "Shards", type: "integer", jsonPath: ".status.masterCount", description: "Shards that exist" },
    { name: "Ready", type: "integer", jsonPath: ".status.readyPods", description: "Pods that are ready" },
    { name: "Pods", type: "integer", jsonPath: ".status.pods", description: "Pods that exist" },
    { name: "Slots", type: "integer", jsonPath: ".status.slotsAssigned", description: "Slots that are served" },
    { name: "Version", type: "string", jsonPath: ".status.version", description: "Version of Valkey" },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp", description: "Time since creation" },
    { name: "Message", type: "string", jsonPath: ".status.message", description: "Why this phase", priority: 1 },
  ],
});

export const parseValkeyCluster: (value: unknown) => ValkeyCluster = valkeyCluster.parse;
