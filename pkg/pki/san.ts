/**
 * The names in a certificate, read from its DER form. The text form of Node and OpenSSL joins names with ", " and does
 * not escape, so a DNS name that holds ", URI:spiffe://…" would look like an identity there.
 */
import { type AlternativeNames, viewOf } from "./certificate-view.ts";
import type { X509Certificate } from "./x509.ts";

export type { AlternativeNames } from "./certificate-view.ts";

export function alternativeNames({ rawData }: Pick<X509Certificate, "rawData">): AlternativeNames {
  return viewOf(new Uint8Array(rawData)).names;
}
