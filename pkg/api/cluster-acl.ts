/** ValkeyClusterAcl: where the users and their passwords come from; serves every topology. */
import * as v from "valibot";
import { conditions, observedGeneration } from "./condition.ts";
import { defineKind, type Resource } from "./kind.ts";
import { choice, immutable, list, objectName, text } from "./schema.ts";
import { secretType } from "./secret-type.ts";

const spec = v.pipe(
  v.object({
    secretName: v.pipe(
      objectName("Secret with the key acl-definitions.yaml. Immutable."),
      immutable<string>("is immutable: change the content of the Secret, or make a new ValkeyClusterAcl"),
    ),
    secretType: v.optional(secretType, "Secret"),
  }),
  v.description("Where the users are defined."),
);

const node = v.object({
  name: text("Name of the ValkeyNode.", 63),
  status: choice("Whether it has loaded the newest users.", ["Ok", "Pending", "Error"]),
  message: v.optional(text("Why not.", 1024)),
});

const status = v.pipe(
  v.object({
    phase: v.optional(
      choice("Summary in one word.", ["MissingSecret", "IncompleteSecret", "Applying", "Applied", "Error"]),
    ),
    observedGeneration,
    message: v.optional(text("Why this phase.", 1024)),
    nodes: v.optional(list("Every node that uses these users.", 1000, node)),
    conditions,
  }),
  v.description("What the operator has found."),
);

export type ValkeyClusterAclSpec = v.InferOutput<typeof spec>;
export type ValkeyClusterAclStatus = v.InferOutput<typeof status>;
export type ValkeyClusterAcl = Resource<ValkeyClusterAclSpec, ValkeyClusterAclStatus>;

export const valkeyClusterAcl = defineKind({
  names: { kind: "ValkeyClusterAcl", plural: "valkeyclusteracls", singular: "valkeyclusteracl", shortNames: ["vcacl"] },
  description: "Users of a Valkey deployment, read from a Secret.",
  spec,
  status,
  columns: [
    { name: "Phase", type: "string", jsonPath: ".status.phase", description: "Summary in one word" },
    { name: "Secret", type: "string", jsonPath: ".spec.secretName", description: "Secret with the users" },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp", description: "Time since creation" },
  ],
});

export const parseValkeyClusterAcl: (value: unknown) => ValkeyClusterAcl = valkeyClusterAcl.parse;
