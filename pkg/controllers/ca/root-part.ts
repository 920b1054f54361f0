/** What a Secret of a root holds: the certificate, its key, or both; also the next root while one is on its way. */
import * as v from "valibot";
import { type ObjectMeta, ObjectMetaSchema, SECRETS, typed } from "../../kube/resource.ts";
import { type CertificateFacts, keyMark, readCertificates, reasonOf, signingKeyProblem } from "../../pki/pki.ts";
import type { RootView } from "../../plan/ca.ts";

export const CERTIFICATE = "tls.crt";
export const KEY = "tls.key";
export const NEXT_CERTIFICATE = "next.crt";
export const NEXT_KEY = "next.key";
/** All roots that are trusted. */
export const TRUSTED = "ca.crt";
/** On roots that the operator made: of which ValkeyCA. Others it never changes. */
export const MADE_FOR = "valkey.io/ca";
export const NEXT_SINCE = "valkey.io/next-root-since";
export const SIGNS_SINCE = "valkey.io/root-signs-since";
/** The user's wish for a new root: on the ValkeyCA, and on the Secret once it is met. */
export const ROTATE = "valkey.io/rotate";

/** Private keys are not kept in memory; the certificates are, because others are given them. */
export interface RootPart {
  readonly metadata: ObjectMeta;
  readonly certificate: CertificateFacts | Unreadable | undefined;
  readonly next: CertificateFacts | undefined;
  readonly trusted: readonly CertificateFacts[];
  readonly key: { readonly mark: string } | Unreadable | undefined;
  readonly nextKey: { readonly mark: string } | Unreadable | undefined;
}

interface Unreadable {
  readonly why: string;
}

export type RootFiles = Readonly<Record<string, string>>;

const Schema = v.object({ metadata: ObjectMetaSchema, data: v.optional(v.record(v.string(), v.string()), {}) });

export const ROOT_SECRETS = typed<RootPart>(SECRETS, (value) => {
  const { metadata, data } = v.parse(Schema, value);
  return rootPart(metadata, decoded(data));
});

/** A Secret's data as text. */
export function decoded(data: Readonly<Record<string, string>>): RootFiles {
  const files: Record<string, string> = {};
  for (const [name, text] of Object.entries(data)) files[name] = Buffer.from(text, "base64").toString();
  return files;
}

/** Of a Secret's files as text, or of a folder's. */
export function rootPart(metadata: ObjectMeta, files: RootFiles): RootPart {
  const certificate = only(files[CERTIFICATE], CERTIFICATE);
  const next = only(files[NEXT_CERTIFICATE], NEXT_CERTIFICATE);
  return {
    metadata,
    certificate,
    next: next === undefined || "why" in next ? undefined : next,
    trusted: several(files[TRUSTED]),
    key: keyIn(files[KEY], KEY),
    nextKey: keyIn(files[NEXT_KEY], NEXT_KEY),
  };
}

function only(pem: string | undefined, file: string): CertificateFacts | Unreadable | undefined {
  if (pem === undefined || pem === "") return undefined;
  try {
    const [certificate, ...more] = readCertificates(pem, file);
    if (certificate === undefined || more.length > 0) {
      return { why: `${file} must hold one certificate, not ${more.length + 1}` };
    }
    return certificate.isAuthority ? certificate : { why: `${file} is no certificate authority` };
  } catch (error) {
    return { why: reasonOf(error) };
  }
}

/** What cannot be read in it is left out: the root that signs is trusted in any case. */
function several(pem: string | undefined): readonly CertificateFacts[] {
  if (pem === undefined || pem === "") return [];
  try {
    return readCertificates(pem, TRUSTED).filter(({ isAuthority }) => isAuthority);
  } catch {
    return [];
  }
}

function keyIn(pem: string | undefined, file: string): RootPart["key"] {
  if (pem === undefined || pem === "") return undefined;
  const why = signingKeyProblem(pem, file);
  return why === undefined ? { mark: keyMark(pem, file) } : { why };
}

/** What the Secret of the certificate and that of the key, which may be the same, make together. */
export function rootOf(certificate: RootPart | undefined, key: RootPart | undefined): RootView {
  if (certificate === undefined && key === undefined) return { found: "nothing" };
  const root = certificate?.certificate ?? { why: `${CERTIFICATE} is missing` };
  const signing = key?.key ?? { why: `${KEY} is missing` };
  if ("why" in root) return { found: "unusable", why: root.why };
  if ("why" in signing) return { found: "unusable", why: signing.why };
  return pairOf(root, certificate, signing.mark);
}

function pairOf(root: CertificateFacts, part: RootPart | undefined, keyMark: string): RootView {
  const facts = { found: "root", ...factsOf(root, part) } as const;
  if (root.keyMark === keyMark) return facts;
  if (part?.next?.keyMark === keyMark) return { ...facts, halfChanged: true };
  return { found: "unusable", why: `${KEY} is not the key of ${CERTIFICATE}` };
}

function factsOf({ thumbprint, notBefore, notAfter }: CertificateFacts, part: RootPart | undefined) {
  const { next, trusted = [], metadata } = part ?? {};
  const notes = metadata?.annotations ?? {};
  const others = trusted.filter((each) => each.thumbprint !== thumbprint && each.thumbprint !== next?.thumbprint);
  return {
    thumbprint,
    notBefore,
    notAfter,
    made: notes[MADE_FOR] !== undefined,
    next: next === undefined ? undefined : { thumbprint: next.thumbprint, since: dateOf(notes[NEXT_SINCE]) },
    old: others.map((each) => ({ thumbprint: each.thumbprint, notAfter: each.notAfter })),
    signsSince: notes[SIGNS_SINCE] === undefined ? undefined : dateOf(notes[SIGNS_SINCE]),
    rotation: notes[ROTATE],
  };
}

function dateOf(text: string | undefined): Date {
  const date = new Date(text ?? 0);
  return Number.isNaN(date.getTime()) ? new Date(0) : date;
}

/** All that are to be trusted, once each, the one that signs first. */
export function trustedOf(part: RootPart | undefined): readonly CertificateFacts[] {
  const { certificate, next, trusted = [] } = part ?? {};
  const own = certificate === undefined || "why" in certificate ? [] : [certificate];
  const all = [...own, ...(next === undefined ? [] : [next]), ...trusted];
  return [...new Map(all.map((each) => [each.thumbprint, each])).values()];
}
