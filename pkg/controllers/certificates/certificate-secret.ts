/**
 * Secrets with certificates of ours, as caches keep them: thumbprints, times and hashes. With thousands of nodes the
 * texts would fill the operator's memory, and no key has to be in it.
 */
import { createHash } from "node:crypto";
import * as v from "valibot";
import { type ObjectMeta, ObjectMetaSchema, SECRETS, typed } from "../../kube/resource.ts";
import { type CertificateFacts, keyMark, readCertificates, reasonOf } from "../../pki/pki.ts";
import type { CertificateView, Held } from "../../plan/certificates/view.ts";

export const CERTIFICATE_FILE = "tls.crt";
export const KEY_FILE = "tls.key";
export const ROOTS_FILE = "ca.crt";
/** Orders a pushed identity and a mounted one. */
export const SEQUENCE_FILE = "sequence";

/** On every Secret with a certificate that the operator issued: what kind of one. */
export const CERTIFICATE_LABEL = "valkey.io/certificate";
export type CertificateKind = "intermediate" | "identity" | "server";
export const CERTIFICATE_SELECTOR = CERTIFICATE_LABEL;
/** When the root that it comes under, or the roots that it trusts, became others. */
export const TRUST_SINCE_ANNOTATION = "valkey.io/trust-since";
/** Names what the certificate was made for. */
export const REQUEST_ANNOTATION = "valkey.io/certificate-request";

export type SecretData = Readonly<Record<string, string>>;

/** Half of what a deployment has: with keySecretRef certificate and key are in two Secrets. */
export interface CertificatePart {
  /** Undefined when there is none. */
  readonly certificate: CertificateView | undefined;
  /** Names the key that the certificate was made for. */
  readonly madeFor: string | undefined;
  /** Names the key that is there, or says why it cannot be read; undefined when there is none. */
  readonly key: { readonly mark: string } | { readonly why: string } | undefined;
}

export interface CertificateSecret extends CertificatePart {
  readonly metadata: ObjectMeta;
}

const SecretSchema = v.object({
  metadata: ObjectMetaSchema,
  data: v.optional(v.record(v.string(), v.string()), {}),
});

export const CERTIFICATE_SECRETS = typed<CertificateSecret>(SECRETS, (value) => {
  const { metadata, data } = v.parse(SecretSchema, value);
  return { metadata, ...partOf(data, metadata.annotations ?? {}) };
});

/** With its content, for the moment in which it is needed. */
export const WHOLE_SECRETS = typed(SECRETS, (value) => v.parse(SecretSchema, value));
export type WholeSecret = v.InferOutput<typeof SecretSchema>;

/** What two Secrets hold together; both may be the same one. */
export function viewOf(certificate: CertificatePart | undefined, key: CertificatePart | undefined): CertificateView {
  if (certificate === undefined && key === undefined) return { found: "nothing" };
  const held = certificate?.certificate;
  if (held === undefined) return { found: "unusable", why: `${CERTIFICATE_FILE} is missing` };
  if (held.found !== "certificate") return held;
  const why = keyProblem(key?.key, certificate?.madeFor);
  return why === undefined ? held : { found: "unusable", why };
}

function keyProblem(key: CertificatePart["key"], madeFor: string | undefined): string | undefined {
  if (key === undefined) return `${KEY_FILE} is missing`;
  if ("why" in key) return key.why;
  return key.mark === madeFor ? undefined : `${KEY_FILE} is not the key of ${CERTIFICATE_FILE}`;
}

function partOf(data: SecretData, notes: Readonly<Record<string, string>>): CertificatePart {
  const text = (file: string) => textOf(data[file]);
  const since = new Date(notes[TRUST_SINCE_ANNOTATION] ?? 0);
  const note = {
    request: notes[REQUEST_ANNOTATION] ?? "",
    sequence: sequenceOf(data),
    trustSince: Number.isNaN(since.getTime()) ? new Date(0) : since,
  };
  return {
    ...certificateIn(text(CERTIFICATE_FILE), text(ROOTS_FILE), note),
    key: keyIn(text(KEY_FILE)),
  };
}

function keyIn(pem: string): CertificatePart["key"] {
  if (pem === "") return undefined;
  try {
    return { mark: keyMark(pem, KEY_FILE) };
  } catch (error) {
    return { why: reasonOf(error) };
  }
}

type Note = Pick<Held, "request" | "sequence" | "trustSince">;

function certificateIn(chainPem: string, rootsPem: string, note: Note): Omit<CertificatePart, "key"> {
  if (chainPem === "") return { certificate: undefined, madeFor: undefined };
  try {
    const [own, ...above] = readCertificates(chainPem, CERTIFICATE_FILE);
    const roots = rootsPem === "" ? [] : readCertificates(rootsPem, ROOTS_FILE);
    if (own === undefined) return { certificate: undefined, madeFor: undefined };
    return { certificate: { found: "certificate", ...chainOf(own, above, roots), ...note }, madeFor: own.keyMark };
  } catch (error) {
    return { certificate: { found: "unusable", why: reasonOf(error) }, madeFor: undefined };
  }
}

/** By signatures, not by names: during a rotation two authorities bear one name. */
function chainOf(own: CertificateFacts, above: readonly CertificateFacts[], roots: readonly CertificateFacts[]) {
  const { thumbprint, notBefore, notAfter } = own;
  const intermediate = above.find((each) => own.signedBy(each));
  const root = roots.find((each) => (intermediate ?? own).signedBy(each));
  return {
    thumbprint,
    notBefore,
    notAfter,
    issuer: (intermediate ?? root)?.thumbprint,
    root: root?.thumbprint,
    trusts: roots.map((each) => each.thumbprint),
  };
}

export function sequenceOf(data: SecretData): number {
  const value = Number(textOf(data[SEQUENCE_FILE]));
  return Number.isSafeInteger(value) && value > 0 ? value : 0;
}

export function textOf(data: string | undefined): string {
  return Buffer.from(data ?? "", "base64").toString();
}

export function dataOf(text: string): string {
  return Buffer.from(text).toString("base64");
}

/** Names what a certificate is asked for; equal wishes have equal names. */
export function requestHash(request: object): string {
  return createHash("sha256").update(JSON.stringify(request)).digest("hex").slice(0, 32);
}
