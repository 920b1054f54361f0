/**
 * The webhooks' certificates as all replicas share them in one Secret: the authority that signs, the one that will
 * sign next, those that signed before and may still be served, and the leaf.
 */
import * as v from "valibot";
import {
  type Credential,
  decodeCertificate,
  decodeCertificates,
  decodeKeys,
  encodeCertificates,
  encodeKey,
  keyFits,
  PkiError,
  thumbprint,
  type X509Certificate,
} from "../pki/pki.ts";

export interface NextAuthority {
  readonly credential: Credential;
  /** When the API server was first told to trust it; undefined: not yet. */
  readonly publishedAt: Date | undefined;
}

export interface OldAuthority {
  /** Its key is gone: it signs nothing more. */
  readonly certificate: X509Certificate;
  /** The end of the last leaf that it signed. No replica can serve one of its leaves after that. */
  readonly until: Date;
}

export interface CertificateState {
  readonly current: Credential;
  readonly next: NextAuthority | undefined;
  readonly old: readonly OldAuthority[];
  readonly leaf: Credential;
}

type Data = Readonly<Record<string, string>>;

const Time = v.pipe(
  v.string(),
  v.isoTimestamp(),
  v.transform((text) => new Date(text)),
);
const Times = v.object({ nextPublishedAt: v.optional(Time), oldUntil: v.optional(v.record(v.string(), Time), {}) });

/** What the API server is to trust; the order is always the same, so that equal states give equal texts. */
export function bundleOf({ current, next, old }: CertificateState): string {
  const authorities = [current.certificate, next?.credential.certificate, ...old.map(({ certificate }) => certificate)];
  return encodeCertificates(authorities.filter((certificate) => certificate !== undefined));
}

export async function encodeState(state: CertificateState): Promise<Data> {
  const { current, next, old, leaf } = state;
  const times = {
    nextPublishedAt: next?.publishedAt?.toISOString(),
    oldUntil: Object.fromEntries(old.map(({ certificate, until }) => [thumbprint(certificate), until.toISOString()])),
  };
  return {
    ...(await encodeCredential(leaf, "tls")),
    ...(await encodeCredential(current, "ca")),
    ...(next === undefined ? {} : await encodeCredential(next.credential, "next-ca")),
    ...(old.length === 0 ? {} : { "old-ca.crt": encodeCertificates(old.map(({ certificate }) => certificate)) }),
    "times.json": JSON.stringify(times),
  };
}

/** Throws a PkiError that names the wrong entry. */
export async function decodeState(data: Data): Promise<CertificateState> {
  const times = parseTimes(data["times.json"] ?? "");
  const leaf = await decodeCredential(data, "tls");
  const current = await decodeCredential(data, "ca");
  if (!(await leaf.certificate.verify({ publicKey: current.certificate.publicKey, signatureOnly: true }))) {
    throw new PkiError("tls.crt was not signed by ca.crt");
  }
  return {
    leaf,
    current,
    next: await decodeNext(data, times.nextPublishedAt),
    old: decodeOld(data["old-ca.crt"], times.oldUntil),
  };
}

async function decodeNext(data: Data, publishedAt: Date | undefined): Promise<NextAuthority | undefined> {
  if (data["next-ca.crt"] === undefined) return undefined;
  return { credential: await decodeCredential(data, "next-ca"), publishedAt };
}

function decodeOld(pem: string | undefined, until: Readonly<Record<string, Date>>): readonly OldAuthority[] {
  if (pem === undefined) return [];
  return decodeCertificates(pem, "old-ca.crt").map((certificate) => ({
    certificate,
    until: until[thumbprint(certificate)] ?? certificate.notAfter,
  }));
}

async function encodeCredential({ certificate, keys }: Credential, name: string): Promise<Data> {
  return { [`${name}.crt`]: encodeCertificates([certificate]), [`${name}.key`]: await encodeKey(keys.privateKey) };
}

async function decodeCredential(data: Data, name: string): Promise<Credential> {
  const certificate = decodeCertificate(data[`${name}.crt`] ?? "", `${name}.crt`);
  const keys = await decodeKeys(data[`${name}.key`] ?? "", `${name}.key`);
  if (!(await keyFits(certificate, keys))) throw new PkiError(`${name}.key is not the key of ${name}.crt`);
  return { certificate, keys };
}

function parseTimes(text: string): v.InferOutput<typeof Times> {
  const result = v.safeParse(v.pipe(v.string(), v.parseJson(), Times), text);
  if (result.success) return result.output;
  throw new PkiError(`times.json cannot be read: ${result.issues[0].message}`);
}
