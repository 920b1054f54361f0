/**
 * Makes certificates: a root (may sign intermediates), intermediates (may sign leaves, within name constraints) and
 * leaves. ECDSA P-256 with SHA-256 throughout. The time is passed in; keys and serial numbers are the only randomness.
 */
import { isIP } from "node:net";
import { type Constraints, nameConstraintsExtension } from "./constraints.ts";
import { generateKeys, KEY_ALGORITHM, type KeyPair } from "./pem.ts";
import { PkiError } from "./pki-error.ts";
import type { AlternativeNames } from "./san.ts";
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  type Extension,
  type JsonGeneralNames,
  KeyUsageFlags,
  KeyUsagesExtension,
  type Name,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  type X509Certificate,
  X509CertificateGenerator,
} from "./x509.ts";

/** A certificate with its key: of an authority or of a leaf. */
export interface Credential {
  readonly certificate: X509Certificate;
  readonly keys: KeyPair;
}

export interface Lifetime {
  readonly now: Date;
  /** From now on; never longer than the issuer's. */
  readonly lifetimeMs: number;
}

export interface AuthorityRequest extends Lifetime {
  readonly name: string;
  readonly constraints?: Constraints;
  /** Whom it may speak for: see scope.ts. */
  readonly scope?: string;
}

export type Usage = "server" | "client";

export interface LeafRequest extends Lifetime {
  readonly name: string;
  readonly names: Partial<AlternativeNames>;
  /** Defaults to both. */
  readonly usages?: readonly Usage[];
}

/** Peers' clocks differ a little; a tenth of the life at most, so that short lives are not mostly in the past. */
const MOST_BACKDATING_MS = 5 * 60_000;
const LONGEST_COMMON_NAME = 64;

const SIGNING = { ...KEY_ALGORITHM, hash: "SHA-256" } as const;
const CA_USAGE = new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true);
const LEAF_USAGE = new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true);
const PURPOSES = { server: ExtendedKeyUsage.serverAuth, client: ExtendedKeyUsage.clientAuth } as const;

/** A self-signed authority that may sign intermediates, which may sign leaves. */
export async function createRoot(request: AuthorityRequest): Promise<Credential> {
  return sign(undefined, request, [new BasicConstraintsExtension(true, 1, true), CA_USAGE, ...constraintsOf(request)]);
}

/** An authority that may sign leaves only. */
export async function createIntermediate(issuer: Credential, request: AuthorityRequest): Promise<Credential> {
  return sign(issuer, request, [
    new BasicConstraintsExtension(true, 0, true),
    CA_USAGE,
    ...constraintsOf(request),
    ...(request.scope === undefined
      ? []
      : [new SubjectAlternativeNameExtension(generalNames({ uri: [request.scope] }))]),
  ]);
}

export async function issueLeaf(issuer: Credential, request: LeafRequest): Promise<Credential> {
  const purposes = (request.usages ?? ["server", "client"]).map((usage) => PURPOSES[usage]);
  return sign(issuer, request, [
    new BasicConstraintsExtension(false, undefined, true),
    LEAF_USAGE,
    new ExtendedKeyUsageExtension(purposes),
    new SubjectAlternativeNameExtension(generalNames(request.names)),
  ]);
}

interface Subject extends Lifetime {
  readonly name: string;
}

async function sign(issuer: Credential | undefined, subject: Subject, extensions: Extension[]): Promise<Credential> {
  const validity = validityOf(issuer?.certificate, subject);
  const keys = await generateKeys();
  const name = [{ CN: [commonName(subject.name)] }];
  const authority: { readonly name: Name | typeof name; readonly keys: KeyPair } =
    issuer === undefined ? { name, keys } : { name: issuer.certificate.subjectName, keys: issuer.keys };
  const certificate = await X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject: name,
    issuer: authority.name,
    ...validity,
    publicKey: keys.publicKey,
    signingKey: authority.keys.privateKey,
    signingAlgorithm: SIGNING,
    extensions: [
      ...extensions,
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
      await AuthorityKeyIdentifierExtension.create(authority.keys.publicKey),
    ],
  });
  return { certificate, keys };
}

/** Within the issuer's own life: a leaf that outlives its issuer would look good and be refused. */
function validityOf(issuer: X509Certificate | undefined, { now, lifetimeMs }: Lifetime) {
  if (!(lifetimeMs >= 1000)) throw new PkiError(`a lifetime of ${lifetimeMs} ms is too short for a certificate`);
  const from = now.getTime() - Math.min(MOST_BACKDATING_MS, lifetimeMs / 10);
  const until = now.getTime() + lifetimeMs;
  if (issuer === undefined) return { notBefore: wholeSecond(from), notAfter: wholeSecond(until) };
  if (issuer.notAfter <= now) {
    throw new PkiError(`the issuer ${issuer.subject} expired at ${issuer.notAfter.toISOString()}: rotate it first`);
  }
  if (issuer.notBefore > now) {
    throw new PkiError(
      `the issuer ${issuer.subject} is valid only from ${issuer.notBefore.toISOString()}: check clocks`,
    );
  }
  return {
    notBefore: wholeSecond(Math.max(from, issuer.notBefore.getTime())),
    notAfter: wholeSecond(Math.min(until, issuer.notAfter.getTime())),
  };
}

/** X.509 knows no fractions of a second. */
function wholeSecond(ms: number): Date {
  return new Date(Math.floor(ms / 1000) * 1000);
}

/** 20 bytes at most, positive, and no leading zero byte: the first is 0x40 to 0x7f. 126 random bits. */
function serialNumber(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Buffer.from(bytes.map((byte, index) => (index === 0 ? (byte & 0x3f) | 0x40 : byte))).toString("hex");
}

/**
 * For people only (identities are in the alternative names), so it is mended, not refused: cut, and without characters
 * that have a meaning in the text form of names.
 */
function commonName(name: string): string {
  if (name.length === 0) throw new PkiError("a certificate needs a name");
  return name.slice(0, LONGEST_COMMON_NAME).replaceAll(/[^A-Za-z0-9 ._:/@-]/g, "_");
}

function constraintsOf(request: AuthorityRequest): Extension[] {
  return request.constraints === undefined ? [] : [nameConstraintsExtension(request.constraints)];
}

function generalNames(names: Partial<AlternativeNames>): JsonGeneralNames {
  const all = [
    ...(names.dns ?? []).map((value) => ({ type: "dns" as const, value })),
    ...(names.ip ?? []).map((value) => ({ type: "ip" as const, value })),
    ...(names.uri ?? []).map((value) => ({ type: "url" as const, value })),
  ];
  if (all.length === 0) throw new PkiError("a leaf needs at least one DNS name, IP address or URI");
  for (const { type, value } of all) checkName(type, value);
  return all;
}

function checkName(type: "dns" | "ip" | "url", value: string): void {
  // Nothing but visible ASCII can be written as an IA5String and read back the same.
  if (!/^[\x21-\x7e]+$/.test(value)) throw new PkiError(`${JSON.stringify(value)} cannot be a name in a certificate`);
  if (type === "ip" && isIP(value) === 0) throw new PkiError(`${JSON.stringify(value)} is no IP address`);
}
