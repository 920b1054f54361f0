/**
 * What a handshake has to know of a certificate, read by walking over its bytes: whether it is an authority, until when it
 * is good, and its names. The TLS stack has judged the rest. To parse it whole takes some milliseconds in a program without
 * a compiler, as agents are, and half of what an agent did in its first seconds was that.
 */
import { type Element, elementsOf, onlyElement } from "./der.ts";
import { PkiError } from "./pki-error.ts";

export interface AlternativeNames {
  readonly dns: readonly string[];
  readonly ip: readonly string[];
  readonly uri: readonly string[];
}

export interface CertificateView {
  readonly isAuthority: boolean;
  readonly notAfter: Date;
  readonly names: AlternativeNames;
}

const TAG = {
  boolean: 0x01,
  octets: 0x04,
  utcTime: 0x17,
  time: 0x18,
  sequence: 0x30,
  version: 0xa0,
  extensions: 0xa3,
} as const;
const NAME = { dns: 0x82, uri: 0x86, ip: 0x87 } as const;
/** What the identifiers of the two extensions look like on the wire: 2.5.29.17 and 2.5.29.19. */
const ALTERNATIVE_NAMES = "551d11";
const BASIC_CONSTRAINTS = "551d13";
/** After the version: serial number, algorithm, issuer, then this. */
const VALIDITY = 3;

/** Throws a PkiError: the bytes may be anything. */
export function viewOf(der: Uint8Array): CertificateView {
  const [signed] = elementsOf(onlyElement(der, TAG.sequence, "the certificate"));
  if (signed?.tag !== TAG.sequence) throw new PkiError("the certificate has no content");
  const fields = elementsOf(signed.content);
  const validity = fields[fields[0]?.tag === TAG.version ? VALIDITY + 1 : VALIDITY];
  const extensions = extensionsOf(fields);
  return {
    isAuthority: isAuthority(extensions.get(BASIC_CONSTRAINTS)),
    notAfter: notAfterOf(validity),
    names: namesOf(extensions.get(ALTERNATIVE_NAMES)),
  };
}

function extensionsOf(fields: readonly Element[]): ReadonlyMap<string, Uint8Array> {
  const found = new Map<string, Uint8Array>();
  const holder = fields.find(({ tag }) => tag === TAG.extensions);
  if (holder === undefined) return found;
  for (const { content } of elementsOf(onlyElement(holder.content, TAG.sequence, "the list of extensions"))) {
    const [id, ...rest] = elementsOf(content);
    const value = rest.at(-1);
    if (id === undefined || value?.tag !== TAG.octets) throw new PkiError("an extension has no value");
    const name = Buffer.from(id.content).toString("hex");
    if (found.has(name)) throw new PkiError("the certificate holds an extension more than once");
    found.set(name, value.content);
  }
  return found;
}

function isAuthority(extension: Uint8Array | undefined): boolean {
  if (extension === undefined) return false;
  const [first] = elementsOf(onlyElement(extension, TAG.sequence, "the basic constraints"));
  return first?.tag === TAG.boolean && first.content[0] !== 0;
}

function notAfterOf(validity: Element | undefined): Date {
  const [, last] = validity?.tag === TAG.sequence ? elementsOf(validity.content) : [];
  const date = new Date(last === undefined ? "" : isoOf(last));
  if (Number.isNaN(date.getTime())) throw new PkiError("the certificate's time cannot be read");
  return date;
}

/** Two digits of a year are of 1950 to 2049. Empty when it is no time. */
function isoOf({ tag, content }: Element): string {
  const text = Buffer.from(content).toString("latin1");
  const century = Number(text.slice(0, 2)) < 50 ? "20" : "19";
  const whole = tag === TAG.utcTime ? `${century}${text}` : text;
  if (!/^\d{14}Z$/.test(whole)) return "";
  return whole.replace(/(....)(..)(..)(..)(..)(..)Z/, "$1-$2-$3T$4:$5:$6Z");
}

function namesOf(extension: Uint8Array | undefined): AlternativeNames {
  if (extension === undefined) return { dns: [], ip: [], uri: [] };
  const names = elementsOf(onlyElement(extension, TAG.sequence, "the list of alternative names"));
  const texts = (kind: number) => names.flatMap(({ tag, content }) => (tag === kind ? [textOf(content)] : []));
  const ip = names.flatMap(({ tag, content }) => (tag === NAME.ip ? [addressOf(content)] : []));
  return { dns: texts(NAME.dns), ip, uri: texts(NAME.uri) };
}

function textOf(content: Uint8Array): string {
  if (content.some((byte) => byte > 0x7f)) throw new PkiError("an alternative name is not written in ASCII");
  return Buffer.from(content).toString("latin1");
}

function addressOf(content: Uint8Array): string {
  const bytes = Buffer.from(content);
  if (bytes.length === 4) return bytes.join(".");
  if (bytes.length !== 16) throw new PkiError(`an address has ${bytes.length} bytes`);
  const groups = Array.from({ length: 8 }, (_, group) => bytes.readUInt16BE(2 * group).toString(16));
  // Written in the shortest way, as everybody else does.
  return new URL(`http://[${groups.join(":")}]`).hostname.slice(1, -1);
}
