/**
 * The kinds of the group valkey.io: one file per kind, each a valibot schema from which come the TypeScript types, the
 * parser, and the OpenAPI schema of the CustomResourceDefinition with its descriptions, defaults and CEL rules. Nothing
 * here does I/O. `KINDS` lists them all.
 */
import { valkeyCA } from "./ca.ts";
import { valkeyCertificateBinding } from "./certificate-binding.ts";
import { valkeyCertificateBundle } from "./certificate-bundle.ts";
import { valkeyCluster } from "./cluster.ts";
import { valkeyClusterAcl } from "./cluster-acl.ts";
import { valkeyClusterDefaults } from "./cluster-defaults.ts";
import { valkeyClusterTls } from "./cluster-tls.ts";
import type { Kind } from "./kind.ts";
import { valkeyNode } from "./node.ts";

export const KINDS: readonly Kind[] = [
  valkeyCluster,
  valkeyNode,
  valkeyClusterTls,
  valkeyClusterAcl,
  valkeyClusterDefaults,
  valkeyCA,
  valkeyCertificateBundle,
  valkeyCertificateBinding,
];
