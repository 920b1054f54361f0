/** Certificates for tests, made with the library that the operator makes its own with, good ones and bad ones alike. */
import { randomBytes } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { AsnConvert } from "@peculiar/asn1-schema";
import {
  GeneralName,
  GeneralSubtree,
  GeneralSubtrees,
  id_ce_nameConstraints,
  NameConstraints,
} from "@peculiar/asn1-x509";
import * as x509 from "../../pkg/pki/x509.ts";

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
const HOUR_MS = 3_600_000;

export interface Identity {
  readonly cert: x509.X509Certificate;
  readonly keys: CryptoKeyPair;
  /** Its certificate and those of the issuers below the root, in that order. */
  readonly chainPem: string;
  readonly certPem: string;
  readonly keyPem: string;
}

export interface AuthorityOptions {
  readonly name: string;
  readonly issuer?: Identity;
  /** DNS and URI subtrees that its certificates may name; without any, all. */
  readonly permitted?: { readonly dns?: readonly string[]; readonly uri?: readonly string[] };
}

export interface LeafOptions {
  readonly name: string;
  readonly issuer: Identity;
  readonly dns?: readonly string[];
  readonly ip?: readonly string[];
  readonly uri?: readonly string[];
  /** Defaults to both. */
  readonly usage?: readonly ("server" | "client")[];
  /** When its validity ends, in hours from now. Defaults to 1. */
  readonly hours?: number;
}

export async function makeAuthority({ name, issuer, permitted }: AuthorityOptions): Promise<Identity> {
  const extensions = [
    new x509.BasicConstraintsExtension(true, issuer === undefined ? 1 : 0, true),
    new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
    ...(permitted === undefined ? [] : [constraints(permitted)]),
  ];
  return sign({ name, issuer, extensions, hours: 1 });
}

export async function makeLeaf(options: LeafOptions): Promise<Identity> {
  const names: x509.JsonGeneralName[] = [
    ...(options.dns ?? []).map((value) => ({ type: "dns", value }) as const),
    ...(options.ip ?? []).map((value) => ({ type: "ip", value }) as const),
    ...(options.uri ?? []).map((value) => ({ type: "url", value }) as const),
  ];
  const usages = { server: x509.ExtendedKeyUsage.serverAuth, client: x509.ExtendedKeyUsage.clientAuth };
  const extensions = [
    new x509.BasicConstraintsExtension(false, undefined, true),
    new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
    new x509.ExtendedKeyUsageExtension((options.usage ?? ["server", "client"]).map((usage) => usages[usage])),
    new x509.SubjectAlternativeNameExtension(names),
  ];
  return sign({ name: options.name, issuer: options.issuer, extensions, hours: options.hours ?? 1 });
}

interface SignRequest {
  readonly name: string;
  readonly issuer: Identity | undefined;
  readonly extensions: x509.Extension[];
  readonly hours: number;
}

async function sign({ name, issuer, extensions, hours }: SignRequest): Promise<Identity> {
  const keys = await crypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
  const cert = await x509.X509CertificateGenerator.create({
    // The first bit is cleared: a serial number is positive.
    serialNumber: `3${randomBytes(15).toString("hex")}`,
    subject: `CN=${name}`,
    issuer: issuer?.cert.subject ?? `CN=${name}`,
    notBefore: new Date(Date.now() - 48 * HOUR_MS),
    notAfter: new Date(Date.now() + hours * HOUR_MS),
    publicKey: keys.publicKey,
    signingKey: issuer?.keys.privateKey ?? keys.privateKey,
    signingAlgorithm: ALGORITHM,
    extensions: [
      ...extensions,
      // Strict verifiers want to see how a chain hangs together by its keys.
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      await x509.AuthorityKeyIdentifierExtension.create(issuer?.keys.publicKey ?? keys.publicKey),
    ],
  });
  const certPem = `${cert.toString("pem")}\n`;
  const above = issuer === undefined || issuer.cert.subject === issuer.cert.issuer ? "" : issuer.chainPem;
  return { cert, keys, certPem, chainPem: certPem + above, keyPem: await exportKey(keys.privateKey) };
}

/** The library has no class of its own for this extension. */
function constraints({ dns = [], uri = [] }: NonNullable<AuthorityOptions["permitted"]>): x509.Extension {
  const names = [
    ...dns.map((dNSName) => new GeneralName({ dNSName })),
    ...uri.map((uniformResourceIdentifier) => new GeneralName({ uniformResourceIdentifier })),
  ];
  const permittedSubtrees = new GeneralSubtrees(names.map((base) => new GeneralSubtree({ base })));
  const value = AsnConvert.serialize(new NameConstraints({ permittedSubtrees }));
  return new x509.Extension(id_ce_nameConstraints, true, value);
}

async function exportKey(key: CryptoKey): Promise<string> {
  const der = Buffer.from(await crypto.subtle.exportKey("pkcs8", key)).toString("base64");
  return `-----BEGIN PRIVATE KEY-----\n${der.replace(/.{64}/g, "$&\n").trimEnd()}\n-----END PRIVATE KEY-----\n`;
}

export interface IdentityFiles {
  readonly cert: string;
  readonly key: string;
}

/** NAME.crt (the chain) and NAME.key in the folder. */
export async function writeIdentity(folder: string, name: string, identity: Identity): Promise<IdentityFiles> {
  await mkdir(folder, { recursive: true });
  const files = { cert: join(folder, `${name}.crt`), key: join(folder, `${name}.key`) };
  await writeFile(files.cert, identity.chainPem);
  await writeFile(files.key, identity.keyPem, { mode: 0o600 });
  return files;
}
