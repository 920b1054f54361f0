/** ValkeyCA: the root under which the operator issues an intermediate per deployment. */
import * as v from "valibot";
import { conditions, observedGeneration } from "./condition.ts";
import { defineKind, type Resource } from "./kind.ts";
import { choice, immutable, integer, objectName, text, timestamp } from "./schema.ts";
import { secretType } from "./secret-type.ts";

const MOVE = "is immutable: make another ValkeyCA and move the bundles to it";

const spec = v.pipe(
  v.object({
    description: v.optional(text("For people.", 1024)),
    secretType: v.optional(secretType, "Secret"),
    caCertSecretRef: v.pipe(
      objectName(
        "Secret with the root certificate, and its key unless caKeySecretRef is given. Made when it is missing. Immutable.",
      ),
      immutable<string>(MOVE),
    ),
    caKeySecretRef: v.optional(
      v.pipe(objectName("Secret with the root's private key. Immutable."), immutable<string>(MOVE)),
    ),
    validForDays: v.optional(integer("Days that a root made by the operator is valid.", 1, 36_500), 3650),
  }),
  v.description("The root certificate."),
);

const status = v.pipe(
  v.object({
    phase: v.optional(choice("Summary in one word.", ["Pending", "Ready", "Expiring", "Expired", "Error"])),
    observedGeneration,
    message: v.optional(text("Why this phase.", 1024)),
    thumbprint: v.optional(text("SHA-256 of the root certificate.", 64)),
    notBefore: v.optional(timestamp("When it began.")),
    notAfter: v.optional(timestamp("When it ends.")),
    conditions,
  }),
  v.description("What the operator has found."),
);

export type ValkeyCASpec = v.InferOutput<typeof spec>;
export type ValkeyCAStatus = v.InferOutput<typeof status>;
export type ValkeyCA = Resource<ValkeyCASpec, ValkeyCAStatus>;

export const valkeyCA = defineKind({
  names: { kind: "ValkeyCA", plural: "valkeycas", singular: "valkeyca", shortNames: ["vca"] },
  description: "A root certificate authority. The operator makes one at install.",
  spec,
  status,
  columns: [
    { name: "Phase", type: "string", jsonPath: ".status.phase", description: "Summary in one word" },
    { name: "Secret", type: "string", jsonPath: ".spec.caCertSecretRef", description: "Secret with the certificate" },
    { name: "NotAfter", type: "string", jsonPath: ".status.notAfter", description: "When it ends" },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp", description: "Time since creation" },
  ],
});

export const parseValkeyCA: (value: unknown) => ValkeyCA = valkeyCA.parse;
