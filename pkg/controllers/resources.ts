/** The kinds of valkey.io as the client and the caches use them. */
import { parseValkeyCA, type ValkeyCA, valkeyCA } from "../api/ca.ts";
import {
  parseValkeyCertificateBinding,
  type ValkeyCertificateBinding,
  valkeyCertificateBinding,
} from "../api/certificate-binding.ts";
import {
  parseValkeyCertificateBundle,
  type ValkeyCertificateBundle,
  valkeyCertificateBundle,
} from "../api/certificate-bundle.ts";
import { parseValkeyCluster, type ValkeyCluster, valkeyCluster } from "../api/cluster.ts";
import { parseValkeyClusterAcl, type ValkeyClusterAcl, valkeyClusterAcl } from "../api/cluster-acl.ts";
import {
  parseValkeyClusterDefaults,
  type ValkeyClusterDefaults,
  valkeyClusterDefaults,
} from "../api/cluster-defaults.ts";
import { parseValkeyClusterTls, type ValkeyClusterTls, valkeyClusterTls } from "../api/cluster-tls.ts";
import { GROUP, type Kind, VERSION } from "../api/kind.ts";
import { parseValkeyNode, type ValkeyNode, valkeyNode } from "../api/node.ts";
import { type Parse, type Resource, typed } from "../kube/resource.ts";

function resourceOf<T>({ names }: Pick<Kind, "names">, parse: Parse<T>): Resource<T> {
  const { plural, kind } = names;
  return typed({ group: GROUP, version: VERSION, plural, kind, namespaced: true }, parse);
}

export const VALKEY_CAS: Resource<ValkeyCA> = resourceOf(valkeyCA, parseValkeyCA);
export const VALKEY_DEFAULTS: Resource<ValkeyClusterDefaults> = resourceOf(
  valkeyClusterDefaults,
  parseValkeyClusterDefaults,
);
export const VALKEY_CLUSTERS: Resource<ValkeyCluster> = resourceOf(valkeyCluster, parseValkeyCluster);
export const VALKEY_NODES: Resource<ValkeyNode> = resourceOf(valkeyNode, parseValkeyNode);
export const VALKEY_TLS: Resource<ValkeyClusterTls> = resourceOf(valkeyClusterTls, parseValkeyClusterTls);
export const VALKEY_BUNDLES: Resource<ValkeyCertificateBundle> = resourceOf(
  valkeyCertificateBundle,
  parseValkeyCertificateBundle,
);
export const VALKEY_BINDINGS: Resource<ValkeyCertificateBinding> = resourceOf(
  valkeyCertificateBinding,
  parseValkeyCertificateBinding,
);
export const VALKEY_ACLS: Resource<ValkeyClusterAcl> = resourceOf(valkeyClusterAcl, parseValkeyClusterAcl);
