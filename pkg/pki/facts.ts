/**
 * What can be said about PEM texts without keeping them. Parsing here costs microseconds, so that a cache can do it for
 * every version of thousands of Secrets.
 */
import { createHash, createPrivateKey, createPublicKey, type KeyObject, X509Certificate } from "node:crypto";
import { PkiError } from "./pki-error.ts";

export interface CertificateFacts {
  readonly thumbprint: string;
  readonly notBefore: Date;
  readonly notAfter: Date;
  readonly isAuthority: boolean;
  /** Object identifiers of what it may be used for; undefined: anything. */
  readonly usages: readonly string[] | undefined;
  /** Names its public key. */
  readonly keyMark: string;
  readonly pem: string;
  /** Whether the other one's key made its signature. */
  readonly signedBy: (issuer: CertificateFacts) => boolean;
  readonly publicKey: KeyObject;
}

const BLOCK = /-----BEGIN ([A-Z0-9 ]+)-----[A-Za-z0-9+/=\s]+-----END \1-----/g;

/** Every certificate of a text in its order; anything else in it is an error, which never quotes what was read. */
export function readCertificates(pem: string, what: string): readonly CertificateFacts[] {
  const blocks = [...pem.matchAll(BLOCK)];
  if (blocks.length === 0) throw new PkiError(`${what} holds no PEM block (-----BEGIN …-----)`);
  const stranger = blocks.find(([, type]) => type !== "CERTIFICATE");
  if (stranger !== undefined) throw new PkiError(`${what} holds a ${stranger[1]} where only certificates belong`);
  return blocks.map(([text], index) => factsOf(text, `certificate ${index + 1} of ${what}`));
}

function factsOf(pem: string, what: string): CertificateFacts {
  const parsed = parse(pem, what);
  const { publicKey } = parsed;
  return {
    thumbprint: parsed.fingerprint256.replaceAll(":", "").toLowerCase(),
    notBefore: new Date(parsed.validFrom),
    notAfter: new Date(parsed.validTo),
    isAuthority: parsed.ca,
    usages: usagesOf(parsed),
    keyMark: markOf(publicKey),
    pem: `${pem}\n`,
    signedBy: (issuer) => parsed.verify(issuer.publicKey),
    publicKey,
  };
}

/** Typed as always there, and absent in certificates without the extension. */
function usagesOf({ keyUsage }: { readonly keyUsage?: readonly string[] | undefined }): readonly string[] | undefined {
  return keyUsage;
}

function parse(pem: string, what: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch (error) {
    throw new PkiError(`${what} is no X.509 certificate`, { cause: error });
  }
}

/** Names the public half of a private key: equal to the mark of the certificates made for it. */
export function keyMark(pem: string, what: string): string {
  try {
    return markOf(createPublicKey(createPrivateKey(pem)));
  } catch (error) {
    throw new PkiError(`${what} is no private key in PEM that can be read`, { cause: error });
  }
}

/** Why a key cannot sign certificates of ours; undefined when it can. Never quotes what was read. */
export function signingKeyProblem(pem: string, what: string): string | undefined {
  if (!pem.includes("-----BEGIN PRIVATE KEY-----")) return `${what} must be a PKCS8 key (-----BEGIN PRIVATE KEY-----)`;
  try {
    const curve = createPrivateKey(pem).asymmetricKeyDetails?.namedCurve;
    return curve === "prime256v1" ? undefined : `${what} is no ECDSA P-256 key`;
  } catch {
    return `${what} is no ECDSA P-256 key`; // Told as no key of the kind that is needed.
  }
}

function markOf(key: KeyObject): string {
  return createHash("sha256")
    .update(key.export({ type: "spki", format: "der" }))
    .digest("hex");
}
