/**
 * The names in a certificate, read from its DER form. The text form of Node and OpenSSL joins names with ", " and does
 * not escape, so a DNS name that holds ", URI:spiffe://…" would look like an identity there.
 */
import { AsnConvert } from "@peculiar/asn1-schema";
import { id_ce_subjectAltName, SubjectAlternativeName } from "@peculiar/asn1-x509";
import { PkiError, reasonOf } from "./pki-error.ts";
import type { X509Certificate } from "./x509.ts";

export interface AlternativeNames {
  readonly dns: readonly string[];
  readonly ip: readonly string[];
  readonly uri: readonly string[];
}

export function alternativeNames(certificate: X509Certificate): AlternativeNames {
  const [extension, ...more] = certificate.getExtensions(id_ce_subjectAltName);
  if (extension === undefined) return { dns: [], ip: [], uri: [] };
  if (more.length > 0) throw new PkiError("the certificate holds more than one subject alternative name extension");
  const names = parseNames(extension.value);
  return {
    dns: names.flatMap(({ dNSName }) => dNSName ?? []),
    ip: names.flatMap(({ iPAddress }) => iPAddress ?? []),
    uri: names.flatMap(({ uniformResourceIdentifier }) => uniformResourceIdentifier ?? []),
  };
}

function parseNames(der: ArrayBuffer): SubjectAlternativeName {
  try {
    return AsnConvert.parse(der, SubjectAlternativeName);
  } catch (error) {
    throw new PkiError(`the certificate's alternative names cannot be read: ${reasonOf(error)}`, { cause: error });
  }
}
