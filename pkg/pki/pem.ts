/** Certificates and keys as text: PEM in Secrets and files, DER on the wire, SHA-256 thumbprints for people. */
import { createHash } from "node:crypto";
import { PkiError, reasonOf } from "./pki-error.ts";
import { PemConverter, X509Certificate } from "./x509.ts";

export const KEY_ALGORITHM = { name: "ECDSA", namedCurve: "P-256" } as const;

export type KeyPair = CryptoKeyPair;

export async function generateKeys(): Promise<KeyPair> {
  return crypto.subtle.generateKey(KEY_ALGORITHM, true, ["sign", "verify"]);
}

/** Several certificates in a row, as trust bundles and chains are written. */
export function encodeCertificates(certificates: readonly X509Certificate[]): string {
  return certificates.map((certificate) => `${certificate.toString("pem")}\n`).join("");
}

/** Every certificate of a PEM text, in its order; other blocks are an error, since a key in a bundle is a leak. */
export function decodeCertificates(pem: string, what: string): readonly X509Certificate[] {
  const blocks = blocksOf(pem, what);
  const stranger = blocks.find(({ type }) => type !== "CERTIFICATE");
  if (stranger !== undefined) throw new PkiError(`${what} holds a ${stranger.type} where only certificates belong`);
  return blocks.map(({ rawData }, index) => parseDer(rawData, `certificate ${index + 1} of ${what}`));
}

/** The only certificate of a PEM text. */
export function decodeCertificate(pem: string, what: string): X509Certificate {
  const [certificate, ...more] = decodeCertificates(pem, what);
  if (certificate !== undefined && more.length === 0) return certificate;
  throw new PkiError(`${what} must hold one certificate, not ${more.length + 1}`);
}

export function parseDer(der: Uint8Array<ArrayBuffer> | ArrayBuffer, what: string): X509Certificate {
  try {
    return new X509Certificate(der);
  } catch (error) {
    throw new PkiError(`${what} is no X.509 certificate: ${reasonOf(error)}`, { cause: error });
  }
}

export async function encodeKey(key: CryptoKey): Promise<string> {
  return `${PemConverter.encode(await crypto.subtle.exportKey("pkcs8", key), "PRIVATE KEY")}\n`;
}

/** A PKCS8 P-256 key; the message never quotes what was read. */
export async function decodeKeys(pem: string, what: string): Promise<KeyPair> {
  const [block, ...more] = blocksOf(pem, what);
  if (block === undefined || more.length > 0 || block.type !== "PRIVATE KEY") {
    throw new PkiError(`${what} must hold one PKCS8 key (-----BEGIN PRIVATE KEY-----) and nothing else`);
  }
  try {
    const privateKey = await crypto.subtle.importKey("pkcs8", block.rawData, KEY_ALGORITHM, true, ["sign"]);
    const { d: _, key_ops: __, ...open } = await crypto.subtle.exportKey("jwk", privateKey);
    const publicKey = await crypto.subtle.importKey("jwk", open, KEY_ALGORITHM, true, ["verify"]);
    return { privateKey, publicKey };
  } catch (error) {
    throw new PkiError(`${what} is no ECDSA P-256 key: make one with openssl genpkey -algorithm EC`, { cause: error });
  }
}

/** Whether the certificate was made for this key. */
export async function keyFits(certificate: X509Certificate, keys: KeyPair): Promise<boolean> {
  const spki = await crypto.subtle.exportKey("spki", keys.publicKey);
  return Buffer.from(spki).equals(Buffer.from(certificate.publicKey.rawData));
}

/** SHA-256 over the DER form, in lower-case hex: what `openssl x509 -fingerprint -sha256` shows without its colons. */
export function thumbprint(certificate: X509Certificate): string {
  return createHash("sha256").update(new Uint8Array(certificate.rawData)).digest("hex");
}

function blocksOf(pem: string, what: string) {
  const blocks = tryDecode(pem, what);
  if (blocks.length === 0) throw new PkiError(`${what} holds no PEM block (-----BEGIN …-----)`);
  return blocks;
}

function tryDecode(pem: string, what: string) {
  try {
    return PemConverter.decodeWithHeaders(pem);
  } catch (error) {
    throw new PkiError(`${what} is no PEM text`, { cause: error });
  }
}
