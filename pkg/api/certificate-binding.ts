/** ValkeyCertificateBinding: which certificates a deployment uses now, and which it has just stopped using. */
import * as v from "valibot";
import { PURPOSES } from "./certificate-bundle.ts";
import { conditions, observedGeneration } from "./condition.ts";
import { defineKind, type Resource } from "./kind.ts";
import { choice, flag, immutable, list, listByKey, objectName, rules, shaped, timestamp } from "./schema.ts";

const thumbprint = shaped(
  "SHA-1 or SHA-256 of the certificate, in hexadecimal.",
  64,
  /^([0-9a-f]{40}|[0-9a-f]{64})$/,
  "must be 40 (SHA-1) or 64 (SHA-256) hexadecimal digits in lower case, without colons",
);

const certificate = {
  purpose: choice("mtls: between operator and agents. tls: towards clients.", PURPOSES),
  thumbprint,
  issuedAt: timestamp("When it was issued."),
  expiresAt: timestamp("When it ends."),
} as const;

const later = {
  rule: "self.expiresAt > self.issuedAt",
  message: "must be later than issuedAt",
  fieldPath: ".expiresAt",
};

const activeObject = v.object({
  ...certificate,
  bundleRef: v.optional(objectName("ValkeyCertificateBundle that issued it. Absent: somebody else did.")),
  secretName: objectName("Secret that holds it."),
  active: v.optional(flag("Whether it is in use; entries of this list are.")),
});
const deprecatedObject = v.object({
  ...certificate,
  bundleRef: v.optional(objectName("ValkeyCertificateBundle that issued it.")),
  secretName: v.optional(objectName("Secret that held it.")),
});

const spec = v.pipe(
  v.object({
    clusterRef: v.pipe(
      objectName("The deployment that uses the certificates. Immutable."),
      immutable<string>("is immutable: a binding belongs to one deployment"),
    ),
    active: v.optional(
      listByKey(
        "Certificates in use, one per purpose.",
        8,
        ["purpose"],
        v.pipe(activeObject, rules<v.InferOutput<typeof activeObject>>(later)),
      ),
    ),
    deprecated: v.optional(
      list(
        "Certificates that are still trusted for a while.",
        32,
        v.pipe(deprecatedObject, rules<v.InferOutput<typeof deprecatedObject>>(later)),
      ),
    ),
  }),
  v.description("The certificates of one deployment."),
);

const status = v.pipe(v.object({ observedGeneration, conditions }), v.description("What the operator has found."));

export type ValkeyCertificateBindingSpec = v.InferOutput<typeof spec>;
export type ValkeyCertificateBindingStatus = v.InferOutput<typeof status>;
export type ValkeyCertificateBinding = Resource<ValkeyCertificateBindingSpec, ValkeyCertificateBindingStatus>;

export const valkeyCertificateBinding = defineKind({
  names: {
    kind: "ValkeyCertificateBinding",
    plural: "valkeycertificatebindings",
    singular: "valkeycertificatebinding",
    shortNames: ["vcbinding"],
  },
  description: "Which certificates a deployment uses. Made by the operator.",
  spec,
  status,
  columns: [
    { name: "Cluster", type: "string", jsonPath: ".spec.clusterRef", description: "The deployment" },
    {
      name: "Purposes",
      type: "string",
      jsonPath: ".spec.active[*].purpose",
      description: "What it has certificates for",
    },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp", description: "Time since creation" },
  ],
});

export const parseValkeyCertificateBinding: (value: unknown) => ValkeyCertificateBinding =
  valkeyCertificateBinding.parse;
