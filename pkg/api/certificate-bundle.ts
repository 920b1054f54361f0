/** ValkeyCertificateBundle: the intermediate of one deployment for one purpose. */
import * as v from "valibot";
import { conditions, observedGeneration } from "./condition.ts";
import { defineKind, type Resource } from "./kind.ts";
import { choice, flag, immutable, integer, objectName, rules, text, timestamp } from "./schema.ts";

/** mtls: between operator and agents. tls: towards clients. */
export const PURPOSES = ["mtls", "tls"] as const;

const specObject = v.object({
  caRef: v.pipe(objectName("ValkeyCA that signs it. Immutable."), immutable<string>("is immutable: make a new bundle")),
  purpose: v.pipe(
    choice("mtls: between operator and agents. tls: towards clients. Immutable.", PURPOSES),
    immutable<(typeof PURPOSES)[number]>("is immutable: make a new bundle"),
  ),
  certSecretRef: objectName("Secret with the certificate."),
  keySecretRef: objectName("Secret with its private key; it may be the same."),
  issuedAt: v.optional(timestamp("When it was issued; absent before that.")),
  expiresAt: v.optional(timestamp("When it ends; absent before it was issued.")),
  rotationPolicy: v.optional(
    v.pipe(
      v.object({
        autoRotate: v.optional(flag("Whether it is renewed without being asked for."), true),
        renewBeforeDays: v.optional(integer("Days before its end at which it is renewed.", 1, 36_500), 30),
      }),
      v.description("When it is renewed."),
    ),
  ),
});

const LIFE = "has(self.issuedAt) && has(self.expiresAt)";
const spec = v.pipe(
  specObject,
  rules<v.InferOutput<typeof specObject>>(
    {
      rule: `!(${LIFE}) || self.expiresAt > self.issuedAt`,
      message: "must be later than issuedAt",
      fieldPath: ".expiresAt",
    },
    {
      rule: `!(${LIFE}) || !has(self.rotationPolicy) || !has(self.rotationPolicy.renewBeforeDays) || self.expiresAt <= self.issuedAt || (self.expiresAt - self.issuedAt).getHours() > self.rotationPolicy.renewBeforeDays * 24`,
      message: "must be shorter than the time from issuedAt to expiresAt, or it would be renewed for ever",
      fieldPath: ".rotationPolicy.renewBeforeDays",
    },
  ),
  v.description("The intermediate certificate."),
);

const status = v.pipe(
  v.object({
    phase: v.optional(choice("Summary in one word.", ["Pending", "Issuing", "Ready", "Expiring", "Expired", "Error"])),
    observedGeneration,
    message: v.optional(text("Why this phase.", 1024)),
    thumbprint: v.optional(text("SHA-256 of the certificate.", 64)),
    issuedAt: v.optional(timestamp("When it begins.")),
    expiresAt: v.optional(timestamp("When it ends.")),
    conditions,
  }),
  v.description("What the operator has found."),
);

export type ValkeyCertificateBundleSpec = v.InferOutput<typeof spec>;
export type ValkeyCertificateBundleStatus = v.InferOutput<typeof status>;
export type ValkeyCertificateBundle = Resource<ValkeyCertificateBundleSpec, ValkeyCertificateBundleStatus>;

export const valkeyCertificateBundle = defineKind({
  names: {
    kind: "ValkeyCertificateBundle",
    plural: "valkeycertificatebundles",
    singular: "valkeycertificatebundle",
    shortNames: ["vcbundle"],
  },
  description: "The intermediate certificate of one deployment for one purpose. Made by the operator.",
  spec,
  status,
  columns: [
    { name: "Purpose", type: "string", jsonPath: ".spec.purpose", description: "mtls or tls" },
    { name: "Phase", type: "string", jsonPath: ".status.phase", description: "Summary in one word" },
    { name: "CA", type: "string", jsonPath: ".spec.caRef", description: "ValkeyCA that signed it" },
    { name: "Expires", type: "string", jsonPath: ".status.expiresAt", description: "When it ends" },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp", description: "Time since creation" },
  ],
});

export const parseValkeyCertificateBundle: (value: unknown) => ValkeyCertificateBundle = valkeyCertificateBundle.parse;
