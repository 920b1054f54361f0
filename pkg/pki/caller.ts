/** Who sent a request to one of our mTLS servers (node:http2, over HTTP/2 or HTTP/1.1). */
import type { IncomingMessage } from "node:http";
import type { Http2ServerRequest } from "node:http2";
import { TLSSocket } from "node:tls";
import { peerIdentity } from "./peer.ts";
import type { SpiffeResult } from "./spiffe.ts";

/**
 * The server must have been made with requestCert and rejectUnauthorized: then the certificate is one that we trust.
 * Never throws.
 */
export function callerOf(request: Http2ServerRequest | IncomingMessage): SpiffeResult {
  // HTTP/2 keeps its socket behind a proxy, through which `instanceof` sees but `in` does not.
  const socket = "stream" in request ? request.stream.session?.socket : request.socket;
  if (!(socket instanceof TLSSocket)) return { ok: false, reason: "the connection is gone or has no TLS" };
  const { raw, issuerCertificate } = socket.getPeerCertificate(true) ?? {};
  if (raw === undefined) return { ok: false, reason: "the caller showed no certificate" };
  const issuer = issuerCertificate?.raw;
  return peerIdentity(new Uint8Array(raw), issuer === undefined ? undefined : new Uint8Array(issuer));
}
