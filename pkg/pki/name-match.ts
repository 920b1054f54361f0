/** Whether names lie within name constraints, by RFC 5280 section 4.2.1.10 for DNS names, URIs and IP addresses. */
import { BlockList, isIP } from "node:net";
import type { Constraints, NameSet } from "./constraints.ts";
import type { AlternativeNames } from "./san.ts";

type NameKind = "dns" | "uri" | "ip";

/** The first name that is excluded, or that is of a constrained kind and not permitted. */
export function nameViolation(names: AlternativeNames, constraints: Required<Constraints>): string | undefined {
  for (const kind of ["dns", "uri", "ip"] as const) {
    const bad = names[kind].find((name) => !allowed(kind, name, constraints));
    if (bad !== undefined) return `${kind} ${JSON.stringify(bad)}`;
  }
  return undefined;
}

function allowed(kind: NameKind, name: string, { permitted, excluded }: Required<Constraints>): boolean {
  if (bases(excluded, kind).some((base) => WITHIN[kind](name, base))) return false;
  const allowedBases = bases(permitted, kind);
  if (kind === "uri" && uriHost(name) === undefined) return allowedBases.length + bases(excluded, kind).length === 0;
  return allowedBases.length === 0 || allowedBases.some((base) => WITHIN[kind](name, base));
}

function bases(set: NameSet, kind: NameKind): readonly string[] {
  return set[kind] ?? [];
}

const WITHIN: Record<NameKind, (name: string, base: string) => boolean> = {
  dns: (name, base) => withinDns(name.toLowerCase(), base.toLowerCase()),
  uri: (name, base) => withinHost(uriHost(name)?.toLowerCase() ?? "", base.toLowerCase()),
  ip: withinNetwork,
};

function withinDns(name: string, base: string): boolean {
  return base === "" || name === base || name.endsWith(base.startsWith(".") ? base : `.${base}`);
}

function withinHost(host: string, base: string): boolean {
  return base.startsWith(".") ? host.endsWith(base) && host.length > base.length : host === base;
}

/** The authority without user and port; undefined where there is none to compare, which a constraint must refuse. */
function uriHost(uri: string): string | undefined {
  const authority = /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)/i.exec(uri)?.[1];
  const host = authority?.slice(authority.lastIndexOf("@") + 1).replace(/:[0-9]*$/, "");
  return host === "" ? undefined : host;
}

function withinNetwork(address: string, network: string): boolean {
  const [base = "", size = ""] = network.split("/");
  const family = isIP(address);
  if (family === 0 || family !== isIP(base)) return false;
  const list = new BlockList();
  const type = family === 4 ? "ipv4" : "ipv6";
  list.addSubnet(base, Number(size), type);
  return list.check(address, type);
}
