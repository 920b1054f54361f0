/** What the controller of clusters looks at. All of it is cached; nothing is asked for. */
import type { ValkeyCluster } from "../../api/cluster.ts";
import type { ValkeyClusterAcl } from "../../api/cluster-acl.ts";
import type { ValkeyClusterDefaults } from "../../api/cluster-defaults.ts";
import type { ValkeyClusterTls } from "../../api/cluster-tls.ts";
import type { ValkeyNode } from "../../api/node.ts";
import type { Cache } from "../../kube/cache.ts";
import type { NamedCaches } from "../../kube/named-caches.ts";
import type { LooseObject } from "../../kube/resource.ts";
import type { NodeCaches } from "../node/observe.ts";
import type { NodeClaim, NodePodObject, OwnConfigMap, OwnSecret } from "../node/resources.ts";
import type { FailedCreate } from "../trouble/failed-creates.ts";
import type { StorageClass } from "../trouble/storage-classes.ts";

export interface ClusterCaches extends NodeCaches {
  readonly clusters: Cache<ValkeyCluster>;
  readonly nodes: Cache<ValkeyNode, "cluster">;
  readonly tls: Cache<ValkeyClusterTls>;
  readonly acls: Cache<ValkeyClusterAcl>;
  readonly defaults: Cache<ValkeyClusterDefaults>;
  readonly pods: Cache<NodePodObject, "node" | "cluster">;
  readonly claims: Cache<NodeClaim, "cluster">;
  readonly configMaps: Cache<OwnConfigMap>;
  readonly contents: Cache<OwnSecret>;
  readonly budgets: Cache<LooseObject>;
  readonly policies: Cache<LooseObject>;
  /** Secrets of users' own, by name. */
  readonly givenSecrets: NamedCaches<OwnSecret>;
  readonly failedCreates: Cache<FailedCreate>;
  /** Undefined when the operator may not see them. */
  readonly storageClasses?: Cache<StorageClass> | undefined;
}
