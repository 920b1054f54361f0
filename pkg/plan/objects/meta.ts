/** What every object of a cluster carries. */
import { API_VERSION } from "../../api/kind.ts";
import { clusterAnnotations, clusterLabels, type Labels, type MemberRef, nodeLabels } from "./names.ts";
import type { ClusterMeta, DesiredMeta, DesiredObject, OwnerReference } from "./types.ts";

/** Whose objects, and which labels the user wants on them. */
export interface Owner {
  readonly cluster: ClusterMeta;
  readonly labels?: Labels | undefined;
}

export interface Named {
  readonly name: string;
  readonly annotations?: Labels | undefined;
  /** Set for what belongs to one node. */
  readonly place?: MemberRef | undefined;
}

/** The labels by which we find our objects win over the user's of the same name. */
export function metaOf({ cluster, labels }: Owner, { name, annotations, place }: Named): DesiredMeta {
  const ours = place === undefined ? clusterLabels(cluster.name) : nodeLabels(cluster.name, place);
  return {
    name,
    namespace: cluster.namespace,
    labels: { ...labels, ...ours },
    annotations: { ...annotations, ...clusterAnnotations(cluster.name) },
    ownerReferences: [ownedBy(cluster)],
  };
}

function ownedBy({ name, uid }: ClusterMeta): OwnerReference {
  return { apiVersion: API_VERSION, kind: "ValkeyCluster", name, uid, controller: true, blockOwnerDeletion: true };
}

export function objectOf(type: Pick<DesiredObject, "apiVersion" | "kind">, metadata: DesiredMeta, content: object) {
  return { ...type, metadata, ...content };
}
