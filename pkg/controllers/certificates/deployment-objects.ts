/** What belongs to the certificates of a cluster: its bundles, its binding, and who of it gets a certificate for what. */
import type { ValkeyCertificateBindingSpec } from "../../api/certificate-binding.ts";
import type { ValkeyCluster } from "../../api/cluster.ts";
import type { ValkeyClusterTls, ValkeyClusterTlsSpec } from "../../api/cluster-tls.ts";
import { milliseconds } from "../../api/duration.ts";
import { API_VERSION } from "../../api/kind.ts";
import type { ValkeyNode } from "../../api/node.ts";
import type { ResolvedClusterSpec } from "../../api/resolve.ts";
import { controllerReference } from "../../kube/owner.ts";
import { nodeWish, type Subject, serverWish } from "../../plan/certificates/requests.ts";
import { bundlesOf } from "../../plan/objects/bundles.ts";
import { metaOf, objectOf } from "../../plan/objects/meta.ts";
import {
  bindingName,
  clusterAnnotations,
  clusterLabels,
  identitySecretName,
  nodeLabels,
  PARENT_KIND,
} from "../../plan/objects/names.ts";
import type { DesiredObject } from "../../plan/objects/types.ts";
import { VALKEY_CLUSTERS, VALKEY_NODES } from "../resources.ts";
import type { LeafTarget } from "./leaf-issuer.ts";
import { refFor } from "./server-certificates.ts";

function ownerOf({ metadata }: ValkeyCluster, { labels }: ResolvedClusterSpec) {
  const { name, namespace = "", uid = "" } = metadata;
  return { cluster: { name, namespace, uid }, labels };
}

function subjectOf({ metadata }: ValkeyCluster): Subject & { readonly role: "deployment" } {
  return { role: "deployment", kind: PARENT_KIND, namespace: metadata.namespace ?? "", name: metadata.name };
}

/** The same ones that the cluster's other objects come with. */
export function clusterBundles(
  cluster: ValkeyCluster,
  spec: ResolvedClusterSpec,
  tls: ValkeyClusterTlsSpec | undefined,
): readonly DesiredObject[] {
  return bundlesOf(ownerOf(cluster, spec), tls);
}

export function clusterBinding(
  cluster: ValkeyCluster,
  spec: ResolvedClusterSpec,
  content: ValkeyCertificateBindingSpec,
): DesiredObject {
  const type = { apiVersion: API_VERSION, kind: "ValkeyCertificateBinding" };
  return objectOf(type, metaOf(ownerOf(cluster, spec), { name: bindingName(cluster.metadata.name) }), {
    spec: content,
  });
}

/** The key of the cluster that a node belongs to. */
export function parentKeyOf({ metadata, spec }: ValkeyNode): string | undefined {
  if (spec.parent.kind.toLowerCase() !== PARENT_KIND) return undefined;
  return `${metadata.namespace ?? ""}/${spec.parent.name}`;
}

export function identityTarget(cluster: ValkeyCluster, node: ValkeyNode, spec: ResolvedClusterSpec): LeafTarget {
  const { name, namespace = "" } = node.metadata;
  return {
    name,
    ref: { namespace, name: identitySecretName(name) },
    kind: "identity",
    wish: nodeWish(subjectOf(cluster), name, milliseconds(spec.operatorMtls.clientCertValidity)),
    labels: nodeLabels(cluster.metadata.name, node.spec),
    annotations: clusterAnnotations(cluster.metadata.name),
    owner: controllerReference(VALKEY_NODES, node),
  };
}

/** What a ValkeyClusterTls that says nothing about it means. */
const OWN_CERTIFICATES = { clientCertValidity: "90d", rotateBeforePercent: 66 } as const;

export function ownCertificates({ internalCerts }: ValkeyClusterTlsSpec) {
  return { ...OWN_CERTIFICATES, ...internalCerts };
}

export function serverTarget(cluster: ValkeyCluster, tls: ValkeyClusterTls): LeafTarget {
  const { name, namespace = "" } = cluster.metadata;
  return {
    name: "server",
    ref: refFor(cluster, tls),
    kind: "server",
    wish: serverWish({ name, namespace }, milliseconds(ownCertificates(tls.spec).clientCertValidity)),
    labels: clusterLabels(name),
    annotations: clusterAnnotations(name),
    owner: controllerReference(VALKEY_CLUSTERS, cluster),
  };
}
