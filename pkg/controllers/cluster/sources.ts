/** What wakes a cluster: itself, what it is made from, its objects, and its agents. */
import { DEFAULTS_NAME } from "../../api/cluster-defaults.ts";
import { type ObjectCache, type Source, watches } from "../../kube/controller.ts";
import { type KubeObject, keyOf } from "../../kube/resource.ts";
import { CR_LABEL } from "../../plan/objects/names.ts";
import type { AgentHub } from "../agents/agent-hub.ts";
import type { ServerCertificates } from "../certificates/server-certificates.ts";
import type { ClusterCaches } from "./caches.ts";

export function clusterSources(caches: ClusterCaches, hub: AgentHub, servers: ServerCertificates): Source[] {
  const { clusters } = caches;
  return [
    watches(clusters, (cluster) => [keyOf(cluster)], { priority: "high" }),
    watches(caches.nodes, keyOfCluster, { priority: "high" }),
    watches(caches.pods, keyOfCluster, { priority: "high" }),
    ...[caches.claims, caches.services, caches.configMaps, caches.contents, caches.budgets, caches.policies].map(
      (cache: ObjectCache<KubeObject>) => watches(cache, keyOfCluster),
    ),
    watches(caches.acls, (acl) => usersOf(caches, (spec) => spec.acl === acl.metadata.name, acl)),
    watches(caches.defaults, (defaults) =>
      defaults.metadata.name === DEFAULTS_NAME ? clusters.list().map(keyOf) : [],
    ),
    watches(caches.givenSecrets, ({ metadata }) => inNamespace(caches, metadata.namespace)),
    known(caches, caches.givenSecrets),
    servers.source,
    {
      subscribe: (wake) => hub.subscribe(({ deployment }) => wake(deployment, "high")),
    },
  ];
}

function keyOfCluster({ metadata: { namespace, labels } }: KubeObject): string[] {
  const cluster = labels?.[CR_LABEL];
  return cluster === undefined || namespace === undefined ? [] : [`${namespace}/${cluster}`];
}

function usersOf(
  { clusters }: ClusterCaches,
  uses: (spec: { readonly acl?: string | undefined }) => boolean,
  { metadata }: KubeObject,
): string[] {
  return clusters
    .list()
    .filter((cluster) => cluster.metadata.namespace === metadata.namespace && uses(cluster.spec))
    .map(keyOf);
}

function inNamespace({ clusters }: ClusterCaches, namespace: string | undefined): string[] {
  return clusters
    .list()
    .filter(({ metadata }) => metadata.namespace === namespace)
    .map(keyOf);
}

/** That something is not there is no change of it, but news. */
function known(caches: ClusterCaches, named: { readonly onKnown: (on: (key: string) => void) => () => void }): Source {
  return {
    subscribe: (wake) =>
      named.onKnown((key) => {
        for (const cluster of inNamespace(caches, key.slice(0, key.indexOf("/")))) wake(cluster, "normal");
      }),
  };
}
