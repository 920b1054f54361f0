/** The ValkeyNodes of a cluster: everything that is to exist of each pod, down to its spec. */
import { API_VERSION } from "../../api/kind.ts";
import type { ResolvedClusterSpec } from "../../api/resolve.ts";
import { complete } from "./complete.ts";
import { membersOf, shardsOf, spareOf } from "./members.ts";
import { metaOf } from "./meta.ts";
import { configMapName, type MemberRef, nodeName } from "./names.ts";
import { podRevisionOf, podTemplateOf } from "./pod-template.ts";
import { nodePorts } from "./services.ts";
import type { ClusterMeta, DesiredNode, OperatorFacts } from "./types.ts";
import type { WirePorts } from "./wire.ts";

export interface NodesInput {
  readonly cluster: ClusterMeta;
  readonly spec: ResolvedClusterSpec;
  readonly operator: OperatorFacts;
  readonly wire: WirePorts;
}

export function nodesOf(input: NodesInput, spares: readonly MemberRef[]): DesiredNode[] {
  return [...membersOf(input.spec), ...spares].map((place) => node(input, place));
}

/** The nodes that a change may add for its time. */
export function spareNodesOf(input: NodesInput): DesiredNode[] {
  if (input.spec.update.strategy !== "Surge") return [];
  return shardsOf(input.spec).map((shard) => node(input, spareOf(shard)));
}

function node(input: NodesInput, place: MemberRef): DesiredNode {
  const { cluster, spec, wire } = input;
  const { shard, member } = place;
  const { labels, annotations, spec: pod } = podTemplateOf({ ...input, place });
  return {
    apiVersion: API_VERSION,
    kind: "ValkeyNode",
    metadata: metaOf({ cluster, labels: spec.labels }, { name: nodeName(cluster.name, place), place }),
    spec: {
      parent: { kind: "ValkeyCluster", name: cluster.name },
      shard,
      member,
      podManagementType: spec.podManagementType,
      suspended: spec.suspended,
      podTemplate: { labels: { ...labels }, annotations: { ...annotations }, spec: pod },
      podRevision: podRevisionOf({ ...input, place }),
      configMapName: configMapName(cluster.name),
      ...(spec.pvc === undefined ? {} : { storage: storageOf(spec.pvc) }),
      service: { ports: nodePorts(wire).map((port) => ({ ...port })) },
    },
  };
}

function storageOf({ storageSize, storageClassName }: NonNullable<ResolvedClusterSpec["pvc"]>) {
  return complete({ size: storageSize, ...(storageClassName === undefined ? {} : { storageClassName }) });
}
