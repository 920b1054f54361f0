/**
 * What certificates are made for. The name constraints keep a stolen intermediate within its namespace; its scope, a
 * SPIFFE id that the ids of all its leaves lie below, within its deployment.
 */
import { announcedHost, type ClusterRef, nodeHost, serverDnsNames, TRUST_DOMAIN } from "../objects/names.ts";

export interface Names {
  readonly dns: readonly string[];
  readonly ip: readonly string[];
  readonly uri: readonly string[];
}

export interface LeafWish {
  readonly name: string;
  readonly names: Names;
  readonly usages: readonly ("server" | "client")[];
  readonly lifetimeMs: number;
}

export interface IntermediateWish {
  readonly name: string;
  readonly lifetimeMs: number;
  readonly constraints: { readonly permitted: Names };
  readonly scope: string | undefined;
}

/** Whom certificates are for: the operator, or a deployment. */
export type Subject =
  | { readonly role: "operator"; readonly namespace: string }
  /** `kind` in lower case. */
  | { readonly role: "deployment"; readonly namespace: string; readonly kind: string; readonly name: string };

/** Long, because leaves cannot outlive it; it is renewed by its bundle's policy and by hand. */
const INTERMEDIATE_MS = 5 * 365 * 86_400_000;
const CLUSTER_DOMAIN = "cluster.local";
const LOOPBACK_NETWORKS = ["127.0.0.1/32", "::1/128"] as const;

export function scopeOf(subject: Subject): string {
  const base = `spiffe://${TRUST_DOMAIN}/ns/${subject.namespace}`;
  return subject.role === "operator" ? `${base}/operator` : `${base}/${subject.kind}/${subject.name}`;
}

/** Between operator and agents: all names of the subject's namespace, no identity but below its scope. */
export function mtlsIntermediate(subject: Subject): IntermediateWish {
  const { namespace } = subject;
  const who = subject.role === "operator" ? "operator" : `${subject.kind} ${subject.name}`;
  return {
    name: `${namespace}/${who} mtls`,
    lifetimeMs: INTERMEDIATE_MS,
    constraints: { permitted: { dns: zones(namespace), ip: LOOPBACK_NETWORKS, uri: [TRUST_DOMAIN] } },
    scope: scopeOf(subject),
  };
}

/** Towards clients: the names of the deployment's Services, and no identity at all. */
export function tlsIntermediate(cluster: ClusterRef): IntermediateWish {
  const { namespace, name } = cluster;
  const short = serverDnsNames(cluster).filter((each) => !each.startsWith("*") && !each.includes(".svc"));
  return {
    name: `${namespace}/${name} tls`,
    lifetimeMs: INTERMEDIATE_MS,
    // A kind of names without an entry would be free: a host that no identity has keeps identities out.
    constraints: { permitted: { dns: [...zones(namespace), ...short], ip: LOOPBACK_NETWORKS, uri: ["invalid"] } },
    scope: undefined,
  };
}

function zones(namespace: string): string[] {
  return [`${namespace}.svc`, `${namespace}.svc.${CLUSTER_DOMAIN}`];
}

function bothForms(name: string): string[] {
  return [name, `${name}.${CLUSTER_DOMAIN}`];
}

export function nodeWish(subject: Subject & { role: "deployment" }, node: string, lifetimeMs: number): LeafWish {
  const cluster = { name: subject.name, namespace: subject.namespace };
  return {
    name: node,
    names: {
      dns: [...bothForms(nodeHost(node, cluster.namespace)), ...bothForms(announcedHost(cluster, node))],
      ip: [],
      uri: [`${scopeOf(subject)}/node/${node}`],
    },
    usages: ["server", "client"],
    lifetimeMs,
  };
}

export function operatorWish(namespace: string, lifetimeMs: number): LeafWish {
  return {
    name: "valkey-operator",
    names: {
      dns: bothForms(`valkey-operator.${namespace}.svc`),
      ip: [],
      uri: [scopeOf({ role: "operator", namespace })],
    },
    usages: ["server", "client"],
    lifetimeMs,
  };
}

/** Nodes show it to clients, and to each other as servers and as clients. */
export function serverWish(cluster: ClusterRef, lifetimeMs: number): LeafWish {
  return {
    name: `${cluster.name}.${cluster.namespace}`,
    // No addresses: clients on BoringSSL refuse any of them below an authority that is bound to some. localhost serves.
    names: { dns: serverDnsNames(cluster), ip: [], uri: [] },
    usages: ["server", "client"],
    lifetimeMs,
  };
}
