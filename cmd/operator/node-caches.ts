/** What is watched of nodes and their pods. Whoever else looks at these kinds shares the caches. */
import type { ValkeyNode } from "../../pkg/api/node.ts";
import { CERTIFICATE_LABEL } from "../../pkg/controllers/certificates/certificate-secret.ts";
import type { NodeCaches } from "../../pkg/controllers/node/observe.ts";
import {
  MACHINES,
  NODE_CLAIMS,
  NODE_DEPLOYMENTS,
  NODE_PODS,
  NODE_STATEFUL_SETS,
  type NodeClaim,
  type NodePodObject,
  OWN_CONFIG_MAPS,
  OWN_SECRETS,
  OWN_SERVICES,
  type OwnConfigMap,
  type OwnSecret,
} from "../../pkg/controllers/node/resources.ts";
import type { Cache } from "../../pkg/kube/cache.ts";
import { byLabel } from "../../pkg/kube/cache-index.ts";
import type { ObjectCache } from "../../pkg/kube/controller.ts";
import type { KubeObject } from "../../pkg/kube/resource.ts";
import { CR_LABEL, MANAGED_SELECTOR, NODE_LABEL, NODE_SELECTOR } from "../../pkg/plan/objects/names.ts";
import type { Caches } from "./caches.ts";
import type { OperatorFlags } from "./flags.ts";

export interface NodeCacheParts {
  readonly flags: OperatorFlags;
  readonly caches: Caches;
  readonly nodes: Cache<ValkeyNode, "cluster">;
  /** Secrets with certificates of ours. */
  readonly certificates: ObjectCache<KubeObject>;
}

/** With the content of what agents are told, for whoever writes it. */
export interface SharedCaches extends NodeCaches {
  readonly nodes: Cache<ValkeyNode, "cluster">;
  readonly pods: Cache<NodePodObject, "node" | "cluster">;
  readonly claims: Cache<NodeClaim, "cluster">;
  readonly configMaps: Cache<OwnConfigMap>;
  readonly contents: Cache<OwnSecret>;
}

export function nodeCaches({ flags, caches, nodes, certificates }: NodeCacheParts): SharedCaches {
  const ofNodes = { labelSelector: NODE_SELECTOR };
  const ofClusters = { labelSelector: `${MANAGED_SELECTOR},${CR_LABEL}` };
  const contents = caches.add(OWN_SECRETS, { labelSelector: `${ofClusters.labelSelector},!${CERTIFICATE_LABEL}` });
  return {
    nodes,
    statefulSets: caches.add(NODE_STATEFUL_SETS, ofNodes),
    deployments: caches.add(NODE_DEPLOYMENTS, ofNodes),
    services: caches.add(OWN_SERVICES, ofClusters),
    claims: caches.add(NODE_CLAIMS, ofNodes, { cluster: byLabel(CR_LABEL) }),
    pods: caches.add(NODE_PODS, ofNodes, { node: byLabel(NODE_LABEL), cluster: byLabel(CR_LABEL) }),
    configMaps: caches.add(OWN_CONFIG_MAPS, ofClusters),
    contents,
    secrets: [contents, certificates],
    ...(flags.watchScope === "cluster" ? { machines: caches.add(MACHINES) } : {}),
  };
}
