/** ValkeyClusterDefaults: what a ValkeyCluster takes for fields it leaves out, for the whole operator or a namespace. */
import * as v from "valibot";
import { clusterSpecObject, clusterSpecRules, type ValkeyClusterSpec } from "./cluster-spec.ts";
import { conditions, observedGeneration } from "./condition.ts";
import { defineKind, type Resource } from "./kind.ts";
import { rules } from "./schema.ts";

/** The only name that counts, in the operator's namespace and in any other. */
export const DEFAULTS_NAME = "valkey-operator-defaults";

const state = (field: string) => ({
  rule: `!has(self.${field}) || !self.${field}`,
  message: "is the state of one cluster and cannot be a default: set it in the ValkeyCluster",
  fieldPath: `.${field}`,
});

/**
 * Nullable because `spec:` with only comments under it is a natural way to begin one. No transition rules: a default
 * may change in any way, and what an existing cluster cannot follow is told in that cluster's status.
 */
const spec = v.nullish(
  v.pipe(
    clusterSpecObject,
    clusterSpecRules,
    rules<ValkeyClusterSpec>(state("suspended"), state("unbound")),
    v.description(
      "Fields of a ValkeyCluster's spec. Built in values < the operator's namespace < the ValkeyCluster's namespace < the ValkeyCluster.",
    ),
  ),
);

const status = v.pipe(v.object({ observedGeneration, conditions }), v.description("Whether the defaults are in use."));

export type ValkeyClusterDefaultsStatus = v.InferOutput<typeof status>;
export type ValkeyClusterDefaults = Resource<v.InferOutput<typeof spec>, ValkeyClusterDefaultsStatus>;

export const valkeyClusterDefaults = defineKind({
  names: {
    kind: "ValkeyClusterDefaults",
    plural: "valkeyclusterdefaults",
    singular: "valkeyclusterdefaults",
    shortNames: ["vcd"],
  },
  description: "What a ValkeyCluster takes for the fields it leaves out.",
  spec,
  specRequired: false,
  transitions: false,
  status,
  rules: [
    {
      rule: `self.metadata.name == '${DEFAULTS_NAME}'`,
      message: `metadata.name must be ${DEFAULTS_NAME}: there is one in the operator's namespace and at most one in each other`,
    },
  ],
  columns: [{ name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp", description: "Time since creation" }],
});

export const parseValkeyClusterDefaults: (value: unknown) => ValkeyClusterDefaults = valkeyClusterDefaults.parse;
