/**
 * With what this agent proves who it is: the newest of what was pushed and what is mounted. Both change while it runs.
 * A certificate that is not this node's, does not fit its key or has ended never replaces one that is good.
 */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { join } from "node:path";
import { fromJsonString, toJsonString } from "@bufbuild/protobuf";
import type { Logger } from "../log/log.ts";
import { formatSpiffeId, type NodeIdentity, peerIdentity } from "../pki/pki.ts";
import { type Identity, IdentitySchema } from "../rpc/gen/valkey/agent/v1/agent_pb.ts";
import { StoredIdentity, type TlsIdentity } from "../rpc/identity.ts";
import type { AgentPaths } from "./agent-paths.ts";
import { readIfThere, writeWhole } from "./files.ts";

interface Candidate extends TlsIdentity {
  readonly sequence: bigint;
  readonly validFrom: Date;
  readonly thumbprint: string;
}

export class AgentIdentity {
  readonly source: StoredIdentity;
  readonly #paths: AgentPaths;
  readonly #expected: NodeIdentity;
  readonly #log: Logger;
  #current: Candidate;
  /** What was read last, good or bad: it is examined once. */
  #seenMount = "";

  /** Throws when there is no usable identity: without one nobody could talk to this agent. */
  constructor(paths: AgentPaths, expected: NodeIdentity, log: Logger) {
    this.#paths = paths;
    this.#expected = expected;
    this.#log = log;
    const mounted = attempt(() => this.#readMounted());
    const pushed = attempt(() => this.#readPushed());
    const current = newer(mounted.value, pushed.value);
    if (current === undefined) {
      const why = mounted.error ?? "there is none";
      throw new Error(`no identity for ${formatSpiffeId(expected)} in ${paths.mountedIdentity}: ${why}`);
    }
    this.#current = current;
    this.source = new StoredIdentity(current);
  }

  /** SHA-256 of the leaf, in lower-case hex. */
  get thumbprint(): string {
    return this.#current.thumbprint;
  }

  /** Looks whether kubelet has brought a newer one. */
  readMount(): void {
    const seen = this.#mountedTexts().join("\0");
    if (seen === this.#seenMount) return;
    this.#seenMount = seen;
    const { value, error } = attempt(() => this.#readMounted());
    if (error !== undefined) this.#log.warn({ why: error }, "the mounted identity cannot be used");
    if (value !== undefined) this.#offer(value, "mounted");
  }

  /** Throws when it cannot be used: whoever pushes it must know. */
  push(identity: Identity): void {
    const pushed = this.#examine(textsOf(identity), identity.sequence);
    if (this.#offer(pushed, "pushed")) writeWhole(this.#paths.pushedIdentity, toJsonString(IdentitySchema, identity));
  }

  #offer(offered: Candidate, from: string): boolean {
    if (newer(this.#current, offered) !== offered || sameContent(this.#current, offered)) return false;
    this.#current = offered;
    this.source.replace(offered);
    this.#log.info({ from, thumbprint: offered.thumbprint }, "identity replaced");
    return true;
  }

  #mountedTexts(): readonly (string | undefined)[] {
    const folder = this.#paths.mountedIdentity;
    return ["tls.crt", "tls.key", "ca.crt", "sequence"].map((name) => readIfThere(join(folder, name)));
  }

  #readMounted(): Candidate | undefined {
    const [certificate, key, authorities, sequence] = this.#mountedTexts();
    if (certificate === undefined || key === undefined || authorities === undefined) return undefined;
    return this.#examine({ certificate, key, authorities }, parseSequence(sequence));
  }

  #readPushed(): Candidate | undefined {
    const text = readIfThere(this.#paths.pushedIdentity);
    if (text === undefined) return undefined;
    const identity = fromJsonString(IdentitySchema, text, { ignoreUnknownFields: true });
    return this.#examine(textsOf(identity), identity.sequence);
  }

  #examine(tls: TlsIdentity, sequence: bigint): Candidate {
    const leaf = new X509Certificate(tls.certificate);
    const peer = peerIdentity(new Uint8Array(leaf.raw));
    const expected = formatSpiffeId(this.#expected);
    const seen = peer.ok ? formatSpiffeId(peer.id) : peer.reason;
    if (seen !== expected) throw new Error(`the certificate is of ${seen}, not of ${expected}`);
    if (!leaf.checkPrivateKey(createPrivateKey(tls.key))) throw new Error("the certificate does not fit its key");
    if (leaf.validToDate.getTime() <= Date.now()) throw new Error(`the certificate ended on ${leaf.validTo}`);
    return {
      ...tls,
      sequence,
      validFrom: leaf.validFromDate,
      thumbprint: leaf.fingerprint256.replaceAll(":", "").toLowerCase(),
    };
  }
}

function textsOf({ certificate, key, authorities }: Identity): TlsIdentity {
  const text = (bytes: Uint8Array) => Buffer.from(bytes).toString("utf8");
  return { certificate: text(certificate), key: text(key), authorities: text(authorities) };
}

function newer(known: Candidate | undefined, offered: Candidate | undefined): Candidate | undefined {
  if (known === undefined || offered === undefined) return known ?? offered;
  if (offered.sequence !== known.sequence) return offered.sequence > known.sequence ? offered : known;
  return offered.validFrom >= known.validFrom ? offered : known;
}

function sameContent(a: TlsIdentity, b: TlsIdentity): boolean {
  return a.certificate === b.certificate && a.key === b.key && a.authorities === b.authorities;
}

/** A Secret that somebody made by hand has none: it is older than anything that was pushed. */
function parseSequence(text: string | undefined): bigint {
  return text !== undefined && /^\d{1,19}$/.test(text.trim()) ? BigInt(text.trim()) : 0n;
}

/** OpenSSL's errors never quote what they could not read. */
function attempt<T>(work: () => T): { readonly value?: T; readonly error?: string } {
  try {
    return { value: work() };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}
