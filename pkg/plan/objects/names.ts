/**
 * How everything that belongs to a cluster is called and marked. Every name that two parts of the operator, or the
 * operator and an agent, have to agree on is made here and nowhere else.
 */
import { OWNED_BY, OWNED_LABEL } from "../../api/kind.ts";

export const PARENT_KIND = "valkeycluster";
export const TRUST_DOMAIN = "valkey.local";
/** The root that the operator makes at its first start, in its own namespace. */
export const ROOT_CA_NAME = "valkey-root-ca";
export const OPERATOR_IDENTITY_SECRET = "valkey-operator-identity";

export const CR_LABEL = "valkey.io/cr";
export const KIND_LABEL = "valkey.io/kind";
export const NODE_LABEL = "valkey.io/node";
export const SHARD_LABEL = "valkey.io/shard";
export const MEMBER_LABEL = "valkey.io/member";
/** On pods whose agents grant write leases. */
export const VOTER_LABEL = "valkey.io/voter";
/** On pods, by the operator: what their agent last reported, `primary` or `replica`. */
export const ROLE_LABEL = "valkey.io/role";
/** On all objects: `ValkeyCluster/NAME`, for people who wonder whose they are. */
export const CR_ANNOTATION = "valkey.io/cr";
/** On pods: what of the spec they were made of. */
export const REVISION_ANNOTATION = "valkey.io/pod-revision";

/** Selects what the operator has made. */
export const MANAGED_SELECTOR = `${OWNED_LABEL}=${OWNED_BY}`;
/** Selects what belongs to nodes of clusters. */
export const NODE_SELECTOR = `${MANAGED_SELECTOR},${NODE_LABEL}`;

export const PORTS = { client: 6379, bus: 16_379, agent: 8444, probes: 8445, exporter: 9121 } as const;
/** The cluster bus listens this far above the port for clients. */
export const BUS_OFFSET = 10_000;

export const CONFIGURATION_KEY = "configuration.json";
export const SECRETS_KEY = "secrets.json";
export const EXPORTER_USER_KEY = "username";
export const EXPORTER_PASSWORD_KEY = "password";

export interface ClusterRef {
  readonly name: string;
  readonly namespace: string;
}

/** A place in a cluster. */
export interface MemberRef {
  readonly shard: number;
  readonly member: number;
}

/** Of the ValkeyNode, its workload and its Service alike. */
export function nodeName(cluster: string, { shard, member }: MemberRef): string {
  return `${cluster}-${shard}-${member}`;
}

/** A StatefulSet's only pod is called so; a Deployment's has it as host name. */
export function podHostname(node: string): string {
  return `${node}-0`;
}

export function claimName(node: string): string {
  return `${node}-data`;
}

export function identitySecretName(node: string): string {
  return `${node}-identity`;
}

export function configMapName(cluster: string): string {
  return `${cluster}-config`;
}

export function secretsName(cluster: string): string {
  return `${cluster}-secrets`;
}

export function exporterSecretName(cluster: string): string {
  return `${cluster}-exporter`;
}

export function headlessServiceName(cluster: string): string {
  return `${cluster}-headless`;
}

export function readServiceName(cluster: string): string {
  return `${cluster}-read`;
}

export function metricsServiceName(cluster: string): string {
  return `${cluster}-metrics`;
}

export function budgetName(cluster: string, shard: number): string {
  return `${cluster}-${shard}`;
}

export function bundleName(cluster: string, purpose: "mtls" | "tls"): string {
  return `${cluster}-${purpose}`;
}

/** Where a bundle's intermediate and its key are kept. */
export function bundleSecretName(cluster: string, purpose: "mtls" | "tls"): string {
  return `${bundleName(cluster, purpose)}-ca`;
}

export function bindingName(cluster: string): string {
  return `${cluster}-cert-binding`;
}

/** The server certificate, unless the ValkeyClusterTls names another Secret for it. */
export function serverTlsSecretName(cluster: string, tlsSecretName?: string): string {
  return tlsSecretName ?? `${cluster}-server-tls`;
}

/** Resolves to the pod of a node, ready or not. */
export function nodeHost(node: string, namespace: string): string {
  return `${node}.${namespace}.svc`;
}

/** What a server announces to clients when they have to find it in a certificate. */
export function announcedHost(cluster: ClusterRef, node: string): string {
  return `${podHostname(node)}.${headlessServiceName(cluster.name)}.${cluster.namespace}.svc`;
}

/** Everything that a client may call a server of the cluster. */
export function serverDnsNames({ name, namespace }: ClusterRef): string[] {
  const headless = `*.${headlessServiceName(name)}.${namespace}.svc`;
  const services = [name, readServiceName(name)].flatMap((service) => [
    service,
    `${service}.${namespace}`,
    `${service}.${namespace}.svc`,
    `${service}.${namespace}.svc.cluster.local`,
  ]);
  return [headless, `${headless}.cluster.local`, ...services, "localhost"];
}

export function operatorUrl(operatorNamespace: string): string {
  return `https://valkey-operator.${operatorNamespace}.svc:8443`;
}

export type Labels = Readonly<Record<string, string>>;

/** What selects everything of a cluster; part of every selector, so it never changes. */
export function clusterSelector(cluster: string): Labels {
  return { [CR_LABEL]: cluster, [KIND_LABEL]: PARENT_KIND };
}

export function shardSelector(cluster: string, shard: number): Labels {
  return { ...clusterSelector(cluster), [SHARD_LABEL]: String(shard) };
}

export function nodeSelector(cluster: string, node: string): Labels {
  return { ...clusterSelector(cluster), [NODE_LABEL]: node };
}

/** The labels of all objects of a cluster. */
export function clusterLabels(cluster: string): Labels {
  return {
    "app.kubernetes.io/name": "valkey",
    "app.kubernetes.io/instance": cluster,
    [OWNED_LABEL]: OWNED_BY,
    ...clusterSelector(cluster),
  };
}

/** The labels of what belongs to one node. */
export function nodeLabels(cluster: string, place: MemberRef): Labels {
  return {
    ...clusterLabels(cluster),
    [NODE_LABEL]: nodeName(cluster, place),
    [SHARD_LABEL]: String(place.shard),
    [MEMBER_LABEL]: String(place.member),
  };
}

export function clusterAnnotations(cluster: string): Labels {
  return { [CR_ANNOTATION]: `ValkeyCluster/${cluster}` };
}
