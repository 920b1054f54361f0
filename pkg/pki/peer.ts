/** Who a peer is, from the certificates that it showed. */
import { viewOf } from "./certificate-view.ts";
import { reasonOf } from "./pki-error.ts";
import { outOfScope } from "./scope.ts";
import { parseSpiffeId, type SpiffeResult } from "./spiffe.ts";

type Der = Uint8Array | ArrayBuffer;

/**
 * Who a peer says it is. The handshake has proven that an authority we trust signed it; here it must hold exactly one
 * URI, as SPIFFE demands, be no authority itself, and be one that its issuer may speak for. Never throws: the
 * certificates may be anything.
 */
export function peerIdentity(der: Der, issuer?: Der): SpiffeResult {
  try {
    const leaf = viewOf(bytesOf(der));
    if (leaf.isAuthority) return { ok: false, reason: "the peer's certificate is that of a certificate authority" };
    const uri = issuer === undefined ? undefined : outOfScope(viewOf(bytesOf(issuer)), leaf);
    if (uri !== undefined) return { ok: false, reason: `the peer's issuer may not speak for ${JSON.stringify(uri)}` };
    return identityIn(leaf.names.uri);
  } catch (error) {
    return { ok: false, reason: reasonOf(error) };
  }
}

function bytesOf(der: Der): Uint8Array {
  return der instanceof Uint8Array ? der : new Uint8Array(der);
}

function identityIn([only, ...more]: readonly string[]): SpiffeResult {
  if (only !== undefined && more.length === 0) return parseSpiffeId(only);
  const count = only === undefined ? 0 : more.length + 1;
  return { ok: false, reason: `the peer's certificate holds ${count} URIs, it must hold exactly one` };
}

/** Until when a chain is good: as long as all of it. What cannot be read limits nothing: the chain then verifies nowhere. */
export function validUntil(ders: readonly Der[]): number {
  return ders.reduce((until, der) => Math.min(until, notAfterOf(der)), Number.POSITIVE_INFINITY);
}

function notAfterOf(der: Der): number {
  try {
    return viewOf(bytesOf(der)).notAfter.getTime();
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
