/** Who a peer is, from the certificates that it showed. */
import { parseDer } from "./pem.ts";
import { reasonOf } from "./pki-error.ts";
import { alternativeNames } from "./san.ts";
import { outOfScope } from "./scope.ts";
import { parseSpiffeId, type SpiffeResult } from "./spiffe.ts";
import { BasicConstraintsExtension, type X509Certificate } from "./x509.ts";

type Der = Uint8Array<ArrayBuffer> | ArrayBuffer;

/**
 * Who a peer says it is. The handshake has proven that an authority we trust signed it; here it must hold exactly one
 * URI, as SPIFFE demands, be no authority itself, and be one that its issuer may speak for. Never throws: the
 * certificates may be anything.
 */
export function peerIdentity(der: Der, issuer?: Der): SpiffeResult {
  try {
    const certificate = parseDer(der, "the peer's certificate");
    if (certificate.getExtension(BasicConstraintsExtension)?.ca === true) {
      return { ok: false, reason: "the peer's certificate is that of a certificate authority" };
    }
    const uri = issuer === undefined ? undefined : outOfScope(parseDer(issuer, "the peer's issuer"), certificate);
    if (uri !== undefined) return { ok: false, reason: `the peer's issuer may not speak for ${JSON.stringify(uri)}` };
    return identityIn(certificate);
  } catch (error) {
    return { ok: false, reason: reasonOf(error) };
  }
}

function identityIn(certificate: X509Certificate): SpiffeResult {
  const { uri } = alternativeNames(certificate);
  const [only, ...more] = uri;
  if (only !== undefined && more.length === 0) return parseSpiffeId(only);
  return { ok: false, reason: `the peer's certificate holds ${uri.length} URIs, it must hold exactly one` };
}
