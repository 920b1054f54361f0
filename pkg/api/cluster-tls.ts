/** ValkeyClusterTls: how clients, replicas and the cluster bus use TLS; serves every topology. */
import * as v from "valibot";
import { conditions, observedGeneration } from "./condition.ts";
import { cronWindow } from "./cron.ts";
import { validity } from "./duration.ts";
import { defineKind, type Resource } from "./kind.ts";
import { choice, flag, integer, objectName, openapi, rules, shaped, text, timestamp } from "./schema.ts";

const ciphers = shaped(
  "Ciphers for TLS 1.2 in OpenSSL's form; absent for the server's own.",
  2048,
  /^[A-Za-z0-9:!+@=_.-]*$/,
  "must be a list in OpenSSL's form, separated by ':'",
);

const specObject = v.object({
  externalCerts: v.optional(
    objectName(
      "Secret with tls.crt, tls.key and ca.crt that somebody else makes and renews. With it internalCerts is ignored.",
    ),
  ),
  internalCerts: v.optional(
    v.pipe(
      v.object({
        clientCertValidity: v.optional(validity("How long the certificates live."), "90d"),
        rotateBeforePercent: v.optional(
          integer("Percent of its life after which a certificate is renewed.", 66, 80),
          66,
        ),
      }),
      v.description("Certificates that the operator makes and renews."),
    ),
  ),
  tlsSecretName: v.optional(
    objectName("Secret that the operator writes the certificates to. Absent: named after this object."),
  ),
  disableNonTlsPort: v.optional(flag("Whether the port without TLS (6379) is closed."), true),
  tlsPort: v.optional(
    v.pipe(
      integer("Port for TLS. The cluster bus is 10000 above it.", 1024, 55_535),
      rules<number>({ rule: "self != 9121", message: "9121 is the exporter's port: use another, for example 6379" }),
    ),
    6379,
  ),
  tlsAuthClients: v.optional(
    v.pipe(
      v.union([v.boolean(), v.literal("optional")]),
      // Neither a type nor CEL covers "a boolean or this text"; an enum without a type does.
      openapi<boolean | "optional">({ enum: [true, false, "optional"], "x-kubernetes-preserve-unknown-fields": true }),
      v.description("Whether clients must show a certificate: true, false or optional."),
    ),
    true,
  ),
  tlsCluster: v.optional(flag("Whether the cluster bus uses TLS."), true),
  tlsReplication: v.optional(flag("Whether replication uses TLS."), true),
  tlsCiphers: v.nullish(ciphers),
  tlsProtocols: v.optional(
    shaped(
      "Protocols that are accepted, separated by spaces.",
      32,
      /^TLSv1\.[23]( TLSv1\.[23])?$/,
      "must be TLSv1.2, TLSv1.3 or both separated by a space: 'TLSv1.2 TLSv1.3'",
    ),
    "TLSv1.2 TLSv1.3",
  ),
  tlsDhParamsFile: v.optional(
    v.pipe(
      v.object({
        valueFrom: v.object({
          configMapKeyRef: v.object({
            name: objectName("Name of the ConfigMap."),
            key: text("Key that holds the parameters in PEM.", 253),
          }),
        }),
      }),
      v.description("Diffie-Hellman parameters for TLS 1.2."),
    ),
  ),
  tlsRefreshRestartWindow: v.optional(
    cronWindow(
      "When a restart may be done for a change of TLS that cannot be applied live: five cron fields, UTC. Empty for any time.",
    ),
  ),
});

const spec = v.pipe(
  specObject,
  rules<v.InferOutput<typeof specObject>>(
    {
      rule: "self.disableNonTlsPort || self.tlsPort != 6379",
      message: "6379 is the port without TLS, which disableNonTlsPort: false keeps open: use another, for example 6380",
      fieldPath: ".tlsPort",
    },
    {
      rule: "!has(self.externalCerts) || !has(self.tlsSecretName) || self.externalCerts != self.tlsSecretName",
      message: "must differ from externalCerts: the operator writes this Secret and only reads that one",
      fieldPath: ".tlsSecretName",
    },
  ),
  v.description("How TLS is used."),
);

const status = v.pipe(
  v.object({
    phase: v.optional(
      choice("Summary in one word.", ["Pending", "MissingSecret", "IncompleteSecret", "Issuing", "Ready", "Error"]),
    ),
    observedGeneration,
    message: v.optional(text("Why this phase.", 1024)),
    notAfter: v.optional(timestamp("When the first certificate in use ends.")),
    thumbprint: v.optional(text("SHA-256 of the certificate that a handshake showed.", 64)),
    conditions,
  }),
  v.description("What the operator has found."),
);

export type ValkeyClusterTlsSpec = v.InferOutput<typeof spec>;
export type ValkeyClusterTlsStatus = v.InferOutput<typeof status>;
export type ValkeyClusterTls = Resource<ValkeyClusterTlsSpec, ValkeyClusterTlsStatus>;

export const valkeyClusterTls = defineKind({
  names: { kind: "ValkeyClusterTls", plural: "valkeyclustertls", singular: "valkeyclustertls", shortNames: ["vctls"] },
  description: "How clients, replicas and the cluster bus use TLS.",
  spec,
  status,
  columns: [
    { name: "Phase", type: "string", jsonPath: ".status.phase", description: "Summary in one word" },
    { name: "External", type: "string", jsonPath: ".spec.externalCerts", description: "Secret of somebody else" },
    { name: "NotAfter", type: "string", jsonPath: ".status.notAfter", description: "When the certificate ends" },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp", description: "Time since creation" },
  ],
});

export const parseValkeyClusterTls: (value: unknown) => ValkeyClusterTls = valkeyClusterTls.parse;
