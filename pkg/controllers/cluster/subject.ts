/** The cluster as events name it. */
import type { ValkeyCluster } from "../../api/cluster.ts";

export function subjectOf({ apiVersion, kind, metadata: { name, namespace, uid } }: ValkeyCluster) {
  return { apiVersion, kind, name, namespace, uid };
}
