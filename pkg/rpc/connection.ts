/**
 * A caller's connection. TLS judges a certificate once, at the handshake; a connection may outlive that judgement. So it
 * is judged again when the trusted authorities change and when the certificate's time is over.
 */
import { TLSSocket } from "node:tls";
import {
  parseDer,
  peerIdentity,
  type SpiffeResult,
  validUntil,
  verifyChain,
  type X509Certificate,
} from "../pki/pki.ts";

/** Whom a server trusts. A new object for every change. */
export interface Trust {
  readonly authorities: readonly X509Certificate[];
  /** From then on (on the clock that never goes back) every handshake that ends was judged by it. */
  readonly since: number;
}

export type Standing =
  | { readonly ok: true }
  | {
      readonly ok: false;
      readonly reason: "no-identity" | "expired-certificate" | "untrusted-certificate";
      readonly message: string;
    };

/** How it is ended. */
export interface Ending {
  readonly close: () => void;
  /** Whether calls under way survive `close`. HTTP/1.1 has no such way: it is closed between two calls. */
  readonly graceful: boolean;
  readonly destroy: () => void;
}

const LONGEST_CHAIN = 6;

type Der = Uint8Array<ArrayBuffer>;

export class Connection {
  readonly peer: SpiffeResult;
  /** For the log: where the caller is. */
  readonly remote: string;
  readonly #ending: Ending;
  readonly #openedAt: number;
  #lastUsed: number;
  #callsUnderWay = 0;
  #closing = false;
  /** As bytes: parsed, thousands of them would cost a hundred times as much memory. */
  readonly #chain: readonly Der[];
  readonly #goodUntil: number;
  #judged: { readonly trust: Trust; readonly verdict: Promise<Standing> } | undefined;
  /** Under which trust it was found good. */
  #goodUnder: Trust | undefined;

  /** Never throws: the certificate may be anything. */
  constructor(socket: unknown, ending: Ending, now: number) {
    const tls = socket instanceof TLSSocket ? socket : undefined;
    const ders = tls === undefined ? [] : chainOf(tls);
    const [leaf, issuer] = ders;
    this.remote = `${tls?.remoteAddress ?? "?"}:${tls?.remotePort ?? "?"}`;
    this.#ending = ending;
    this.#openedAt = now;
    this.#lastUsed = now;
    this.peer =
      leaf === undefined ? { ok: false, reason: "the caller showed no certificate" } : peerIdentity(leaf, issuer);
    this.#chain = ders;
    this.#goodUntil = validUntil(ders);
  }

  get closing(): boolean {
    return this.#closing;
  }

  /** `now` is of the clock that never goes back. */
  idleFor(now: number): number {
    return this.#callsUnderWay > 0 ? 0 : now - this.#lastUsed;
  }

  callBegan(): void {
    this.#callsUnderWay += 1;
  }

  callEnded(now: number): void {
    this.#callsUnderWay -= 1;
    this.#lastUsed = now;
    if (this.#closing && this.#callsUnderWay === 0) this.#ending.close();
  }

  /** Takes no new calls; those under way go on. */
  close(): void {
    if (this.#closing) return;
    this.#closing = true;
    if (this.#ending.graceful || this.#callsUnderWay === 0) this.#ending.close();
  }

  destroy(): void {
    this.#ending.destroy();
  }

  /** Whether it may go on as of now (wall clock). */
  async standing(trust: Trust, now: number): Promise<Standing> {
    if (!this.peer.ok) return { ok: false, reason: "no-identity", message: this.peer.reason };
    if (now >= this.#goodUntil) {
      const when = new Date(this.#goodUntil).toISOString();
      const message = `the caller's certificate expired at ${when} and the connection outlived it: connect anew`;
      return { ok: false, reason: "expired-certificate", message };
    }
    // What the handshake has judged by the same trust is not judged again.
    if (this.#judged === undefined && this.#openedAt >= trust.since) this.#goodUnder = trust;
    if (this.#goodUnder === trust) return { ok: true };
    if (this.#judged?.trust !== trust) this.#judged = { trust, verdict: this.#judge(trust, now) };
    return this.#judged.verdict;
  }

  /** Whether it is known already that it may go on: most are asked many times under one trust. */
  isGood(trust: Trust, now: number): boolean {
    return this.#goodUnder === trust && now < this.#goodUntil;
  }

  async #judge(trust: Trust, now: number): Promise<Standing> {
    const [leaf, ...intermediates] = this.#chain.flatMap(parsed);
    if (leaf === undefined) return { ok: false, reason: "no-identity", message: "the caller showed no certificate" };
    const verdict = await verifyChain({
      leaf,
      intermediates,
      roots: trust.authorities,
      now: new Date(now),
      usage: "client",
    });
    if (verdict.ok) {
      this.#goodUnder = trust;
      return { ok: true };
    }
    const message = `the caller's certificate is no longer trusted: ${verdict.reason}`;
    return { ok: false, reason: "untrusted-certificate", message };
  }
}

/** What the caller showed, leaf first. */
function chainOf(socket: TLSSocket): Der[] {
  const ders: Der[] = [];
  let certificate = socket.getPeerCertificate(true) ?? {};
  while (certificate.raw !== undefined && ders.length < LONGEST_CHAIN) {
    ders.push(new Uint8Array(certificate.raw));
    // A root is its own issuer.
    if (certificate.issuerCertificate === certificate) break;
    certificate = certificate.issuerCertificate ?? {};
  }
  return ders;
}

function parsed(der: Der): X509Certificate[] {
  try {
    return [parseDer(der, "the caller's certificate")];
  } catch {
    // Then the chain does not verify, which says it better.
    return [];
  }
}
