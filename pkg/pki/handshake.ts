/**
 * Asks a TLS server for its certificate by a real handshake: whether a rotated certificate is served, and trusted, is
 * known only then. It proves the server's side. With TLS 1.3 a client learns that its own certificate was refused only
 * from what comes after the handshake: a server of HTTP/2 speaks first, and closes without a word when it refuses.
 */
import { isIP } from "node:net";
import { connect, type TLSSocket } from "node:tls";
import { peerIdentity } from "./peer.ts";
import { parseDer } from "./pem.ts";
import { reasonOf } from "./pki-error.ts";
import type { SpiffeId } from "./spiffe.ts";
import type { X509Certificate } from "./x509.ts";

export interface HandshakeRequest {
  readonly host: string;
  readonly port: number;
  /** PEM: whom we trust. */
  readonly ca: string;
  /** PEM: who we are, for servers that ask. */
  readonly credential?: { readonly cert: string; readonly key: string };
  /** Whom we mean: a host name or address in the certificate, or an identity in its URI. */
  readonly expect: { readonly name: string } | { readonly identity: (id: SpiffeId) => boolean };
  /**
   * Ask for HTTP/2 and wait for the server's first word, which it says only to whom it has accepted. Defaults to false:
   * then whether it accepts us is not known.
   */
  readonly untilAccepted?: boolean;
}

export type HandshakeResult =
  /** `accepted` is only true when that was waited for. */
  | { readonly ok: true; readonly certificate: X509Certificate; readonly accepted: boolean }
  | { readonly ok: false; readonly reason: string };

/** Never throws; ends with the signal at the latest. */
export async function handshake(request: HandshakeRequest, signal: AbortSignal): Promise<HandshakeResult> {
  const where = `handshake with ${request.host}:${request.port}`;
  return new Promise((resolve) => {
    const socket = open(request);
    let shown: HandshakeResult | undefined;
    const end = (result: HandshakeResult) => {
      signal.removeEventListener("abort", onAbort);
      socket.destroy();
      resolve(result);
    };
    const fail = (reason: string) => end(shown ?? { ok: false, reason: `${where}: ${reason}` });
    const onAbort = () => fail("no answer in time");
    signal.addEventListener("abort", onAbort, { once: true });
    socket.once("secureConnect", () => {
      shown = judged(request, socket, where);
      if (!shown.ok || request.untilAccepted !== true) end(shown);
    });
    socket.once("data", () => {
      if (shown?.ok === true) end({ ...shown, accepted: true });
    });
    socket.on("error", (error) => fail(error.message));
    socket.once("close", () => fail("the server closed the connection"));
    if (signal.aborted) onAbort();
  });
}

function open({ host, port, ca, credential, expect, untilAccepted }: HandshakeRequest): TLSSocket {
  const name = "name" in expect ? expect.name : undefined;
  return connect({
    host,
    port,
    ca,
    ...credential,
    ...(untilAccepted === true ? { ALPNProtocols: ["h2"] } : {}),
    // An address is no server name for SNI, and an identity is checked by its URI alone.
    ...(name === undefined || isIP(name) !== 0 ? {} : { servername: name }),
    ...(name === undefined ? { checkServerIdentity: () => undefined } : {}),
  });
}

function judged({ expect }: HandshakeRequest, socket: TLSSocket, where: string): HandshakeResult {
  try {
    const { raw, issuerCertificate } = socket.getPeerCertificate(true);
    const der = new Uint8Array(raw);
    if ("identity" in expect) {
      const peer = peerIdentity(der, new Uint8Array(issuerCertificate.raw));
      if (!peer.ok) return { ok: false, reason: `${where}: ${peer.reason}` };
      if (!expect.identity(peer.id)) return { ok: false, reason: `${where}: it is another's certificate` };
    }
    return { ok: true, certificate: parseDer(der, "the server's certificate"), accepted: false };
  } catch (error) {
    return { ok: false, reason: `${where}: ${reasonOf(error)}` };
  }
}
