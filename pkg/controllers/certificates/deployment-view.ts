/** What the caches and the handshakes tell of the certificates of one cluster. */
import type { ValkeyCertificateBinding } from "../../api/certificate-binding.ts";
import type { ValkeyCertificateBundle } from "../../api/certificate-bundle.ts";
import type { ValkeyCluster } from "../../api/cluster.ts";
import type { ValkeyClusterTls } from "../../api/cluster-tls.ts";
import type { ValkeyNode } from "../../api/node.ts";
import { difference, toJson } from "../../kube/apply-compare.ts";
import type { Cache } from "../../kube/cache.ts";
import { type KubeObject, keyOf } from "../../kube/resource.ts";
import {
  type DeploymentView,
  type ExternalServers,
  type LeafGroup,
  trustByTime,
} from "../../plan/certificates/deployment.ts";
import type { ServerSecret } from "../../plan/certificates/server.ts";
import { bindingName, bundleName } from "../../plan/objects/names.ts";
import type { DesiredObject } from "../../plan/objects/types.ts";
import type { Roots } from "../ca/roots.ts";
import { intermediateOf, useOf } from "./bundle-controller.ts";
import { type CertificateSecret, requestHash, viewOf } from "./certificate-secret.ts";
import type { ClusterSpecs } from "./cluster-specs.ts";
import { clusterBundles, identityTarget, ownCertificates, parentKeyOf, serverTarget } from "./deployment-objects.ts";
import type { LeafTarget } from "./leaf-issuer.ts";
import type { ProcessSights } from "./process-sights.ts";
import type { ServerCertificates } from "./server-certificates.ts";

export interface DeploymentCaches {
  readonly specs: ClusterSpecs;
  readonly nodes: Cache<ValkeyNode>;
  readonly bundles: Cache<ValkeyCertificateBundle>;
  readonly bindings: Cache<ValkeyCertificateBinding>;
  readonly tls: Cache<ValkeyClusterTls>;
  readonly secrets: Cache<CertificateSecret>;
  readonly roots: Roots;
  readonly sights: ProcessSights;
  readonly servers: Pick<ServerCertificates, "question">;
}

export type Purpose = "mtls" | "tls";

export interface Target extends LeafTarget {
  /** Whose process uses it; undefined for the servers of a cluster. */
  readonly node: ValkeyNode | undefined;
}

export function viewDeployment(caches: DeploymentCaches, cluster: ValkeyCluster): DeploymentView {
  const tls = tlsFor(caches, cluster);
  const bundles = clusterBundles(cluster, caches.specs.of(cluster), tls?.spec);
  const { operatorMtls } = caches.specs.of(cluster);
  const own = tls === undefined || tls.spec.externalCerts !== undefined ? undefined : ownCertificates(tls.spec);
  return {
    name: `ValkeyCluster ${keyOf(cluster)}`,
    cluster: cluster.metadata.name,
    staleBundles: bundles.filter((body) => isStale(caches.bundles, body)).map(({ metadata }) => metadata.name),
    identities: groupOf(caches, cluster, "mtls", operatorMtls.rotateBeforePercent),
    servers: own === undefined ? undefined : groupOf(caches, cluster, "tls", own.rotateBeforePercent),
    external: externalServers(caches, cluster, tls),
    binding: caches.bindings.get({ namespace: cluster.metadata.namespace, name: bindingName(cluster.metadata.name) })
      ?.spec,
  };
}

function externalServers(
  { servers }: DeploymentCaches,
  cluster: ValkeyCluster,
  tls: ValkeyClusterTls | undefined,
): ExternalServers | undefined {
  if (tls?.spec.externalCerts === undefined) return undefined;
  const { name: secret, secret: content } = servers.question(cluster, tls);
  return { secret, certificate: lifeIn(content), shown: cluster.status?.tls?.thumbprint };
}

function lifeIn(secret: ServerSecret): ExternalServers["certificate"] {
  if (secret.is !== "there" || secret.facts.problem !== undefined) return undefined;
  const { thumbprint, notBefore, notAfter } = secret.facts;
  if (thumbprint === undefined || notBefore === undefined || notAfter === undefined) return undefined;
  return { thumbprint, notBefore, notAfter };
}

/** The ValkeyClusterTls that the cluster uses. */
export function tlsFor({ specs, tls }: DeploymentCaches, cluster: ValkeyCluster): ValkeyClusterTls | undefined {
  const name = specs.of(cluster).tls;
  return name === undefined ? undefined : tls.get({ namespace: cluster.metadata.namespace, name });
}

export function isStale<T extends KubeObject>(cache: Cache<T>, wanted: DesiredObject): boolean {
  const { name, namespace } = wanted.metadata;
  const live = cache.get({ name, namespace });
  return live === undefined || difference(toJson(wanted), toJson(live)) !== undefined;
}

export function bundleFor(
  { bundles }: DeploymentCaches,
  { metadata }: ValkeyCluster,
  purpose: Purpose,
): ValkeyCertificateBundle | undefined {
  return bundles.get({ namespace: metadata.namespace, name: bundleName(metadata.name, purpose) });
}

/** Who is to have a certificate, by name. */
export function targetsFor(
  caches: DeploymentCaches,
  cluster: ValkeyCluster,
  purpose: Purpose,
): ReadonlyMap<string, Target> {
  if (purpose === "tls") {
    const tls = tlsFor(caches, cluster);
    if (tls === undefined || tls.spec.externalCerts !== undefined) return new Map();
    return new Map([["server", { ...serverTarget(cluster, tls), node: undefined }]]);
  }
  const key = keyOf(cluster);
  const spec = caches.specs.of(cluster);
  const nodes = caches.nodes
    .list()
    .filter((node) => parentKeyOf(node) === key && node.metadata.deletionTimestamp === undefined);
  return new Map(nodes.map((node) => [node.metadata.name, { ...identityTarget(cluster, node, spec), node }]));
}

function groupOf(
  caches: DeploymentCaches,
  cluster: ValkeyCluster,
  purpose: Purpose,
  rotateBeforePercent: number,
): LeafGroup | undefined {
  const bundle = bundleFor(caches, cluster, purpose);
  if (bundle === undefined) return undefined;
  const members = [...targetsFor(caches, cluster, purpose).values()].map((target) => {
    const secret = caches.secrets.get(target.ref);
    const held = viewOf(secret, secret);
    const marksDiffer = secret !== undefined && !carries(secret, target);
    const process = target.node === undefined ? trustByTime(held, new Date()) : caches.sights.of(target.node);
    return {
      name: target.name,
      request: requestHash(target.wish),
      held,
      process,
      marksDiffer,
      secret: target.ref.name,
    };
  });
  return {
    deployment: `ValkeyCluster ${keyOf(cluster)}`,
    authority: caches.roots.authority(useOf(bundle)),
    intermediate: intermediateOf(caches.secrets, bundle),
    intermediateSecret: bundle.spec.certSecretRef,
    bundle: bundle.metadata.name,
    members,
    rotateBeforePercent,
  };
}

/** Whether labels, owner and notes are still those that were put on it. */
function carries({ metadata }: CertificateSecret, target: LeafTarget): boolean {
  const within = (wanted: Readonly<Record<string, string>>, given: Readonly<Record<string, string>> = {}) =>
    Object.entries(wanted).every(([name, value]) => given[name] === value);
  return (
    within(target.labels, metadata.labels) &&
    within(target.annotations, metadata.annotations) &&
    metadata.ownerReferences?.some(({ uid }) => uid === target.owner.uid) === true
  );
}
