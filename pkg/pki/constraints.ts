/**
 * Name constraints: what an intermediate may sign at all. With them a stolen intermediate of one deployment is of no
 * use against another. Kinds of names that have no permitted entry stay free, as RFC 5280 says.
 */
import { AsnConvert } from "@peculiar/asn1-schema";
import {
  GeneralName,
  GeneralSubtree,
  GeneralSubtrees,
  id_ce_nameConstraints,
  NameConstraints,
} from "@peculiar/asn1-x509";
import { PkiError } from "./pki-error.ts";
import { Extension } from "./x509.ts";

export interface NameSet {
  /** A name stands for itself and everything below it: `svc.cluster.local`. */
  readonly dns?: readonly string[];
  /** Hosts of URIs, exactly; with a leading dot everything below, but not itself. */
  readonly uri?: readonly string[];
  /** Networks: `10.0.0.0/8`, `fd00::/8`. */
  readonly ip?: readonly string[];
}

export interface Constraints {
  readonly permitted?: NameSet;
  readonly excluded?: NameSet;
}

/** Always critical: who does not understand it must refuse the certificate. */
export function nameConstraintsExtension(constraints: Constraints): Extension {
  const permitted = subtrees(constraints.permitted ?? {});
  const excluded = subtrees(constraints.excluded ?? {});
  if (permitted.length + excluded.length === 0) {
    throw new PkiError("name constraints without a name: leave them out, or name what is permitted");
  }
  const asn = new NameConstraints({
    ...(permitted.length > 0 ? { permittedSubtrees: new GeneralSubtrees(permitted) } : {}),
    ...(excluded.length > 0 ? { excludedSubtrees: new GeneralSubtrees(excluded) } : {}),
  });
  return new Extension(id_ce_nameConstraints, true, AsnConvert.serialize(asn));
}

export function parseNameConstraints(der: ArrayBuffer): Required<Constraints> {
  const asn = AsnConvert.parse(der, NameConstraints);
  return { permitted: nameSet(asn.permittedSubtrees), excluded: nameSet(asn.excludedSubtrees) };
}

function subtrees(names: NameSet): GeneralSubtree[] {
  const { dns = [], uri = [], ip = [] } = names;
  return [
    ...dns.map((dNSName) => new GeneralName({ dNSName })),
    ...uri.map((uniformResourceIdentifier) => new GeneralName({ uniformResourceIdentifier })),
    ...ip.map((iPAddress) => new GeneralName({ iPAddress })),
  ].map((base) => new GeneralSubtree({ base }));
}

function nameSet(trees: readonly GeneralSubtree[] | undefined): Required<NameSet> {
  const bases = (trees ?? []).map(({ base }) => base);
  return {
    dns: bases.flatMap(({ dNSName }) => dNSName ?? []),
    uri: bases.flatMap(({ uniformResourceIdentifier }) => uniformResourceIdentifier ?? []),
    ip: bases.flatMap(({ iPAddress }) => iPAddress ?? []),
  };
}
