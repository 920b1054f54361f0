/** What is made for a ValkeyNode: its claim, its Service, and the workload that keeps its pod. */
import { API_VERSION } from "../../api/kind.ts";
import type { ValkeyNode } from "../../api/node.ts";
import { bytesOf } from "../objects/bytes.ts";
import { CR_ANNOTATION, claimName, type Labels, nodeSelector, REVISION_ANNOTATION } from "../objects/names.ts";
import { toPorts } from "../objects/services.ts";
import type { DesiredMeta, DesiredObject } from "../objects/types.ts";
import { type NodeView, podOf } from "./view.ts";

function metaOf(node: ValkeyNode, name: string, annotations: Labels = {}): Omit<DesiredMeta, "ownerReferences"> {
  const { namespace = "", labels = {} } = node.metadata;
  const cr = node.metadata.annotations?.[CR_ANNOTATION] ?? `${node.spec.parent.kind}/${node.spec.parent.name}`;
  return { name, namespace, labels, annotations: { ...annotations, [CR_ANNOTATION]: cr } };
}

function owned(node: ValkeyNode, annotations?: Labels): DesiredMeta {
  const { name, uid = "" } = node.metadata;
  const owner = { apiVersion: API_VERSION, kind: "ValkeyNode", name, uid } as const;
  const meta = metaOf(node, name, annotations);
  return { ...meta, ownerReferences: [{ ...owner, controller: true, blockOwnerDeletion: true }] };
}

/** Without an owner: garbage collection must never delete data. One that is larger than asked for stays so. */
export function claimOf(node: ValkeyNode, { claim }: Pick<NodeView, "claim">): DesiredObject | undefined {
  const { storage } = node.spec;
  if (storage === undefined) return undefined;
  const { size, storageClassName } = storage;
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: metaOf(node, claimName(node.metadata.name)),
    spec: {
      accessModes: ["ReadWriteOnce"],
      resources: { requests: { storage: largerOf(size, claim?.requested) } },
      ...(storageClassName === undefined || storageClassName === "" ? {} : { storageClassName }),
    },
  };
}

/** In the words of what is there, if that is enough: the same size in another unit is no change. */
function largerOf(size: string, requested: string | undefined): string {
  return requested !== undefined && bytesOf(requested) >= bytesOf(size) ? requested : size;
}

/** Finds the pod by the node's name, ready or not. */
export function serviceOf(node: ValkeyNode): DesiredObject | undefined {
  const { service } = node.spec;
  if (service === undefined) return undefined;
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: owned(node, service.annotations),
    spec: {
      clusterIP: "None",
      publishNotReadyAddresses: true,
      selector: selectorOf(node),
      ports: toPorts(service.ports),
    },
  };
}

export function selectorOf({ spec, metadata }: ValkeyNode): Labels {
  return nodeSelector(spec.parent.name, metadata.name);
}

/** Never replaced by the StatefulSet itself: its parent says when. */
export const POD_MANAGEMENT_POLICY = "Parallel";

export function workloadOf(node: ValkeyNode, view: NodeView): DesiredObject {
  const { podManagementType, suspended } = node.spec;
  const common = {
    replicas: suspended ? 0 : 1,
    selector: { matchLabels: selectorOf(node) },
    revisionHistoryLimit: 1,
    template: templateOf(node),
  };
  if (podManagementType === "statefulset") {
    return {
      apiVersion: "apps/v1",
      kind: "StatefulSet",
      metadata: owned(node),
      spec: {
        ...common,
        serviceName: serviceNameOf(node),
        podManagementPolicy: POD_MANAGEMENT_POLICY,
        updateStrategy: { type: "OnDelete" },
      },
    };
  }
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: owned(node),
    // The server does not store a pause that is not.
    spec: { ...common, strategy: { type: "Recreate" }, ...(keepsItsPod(node, view) ? { paused: true } : {}) },
  };
}

export function serviceNameOf({ spec }: ValkeyNode): string {
  return spec.podTemplate.spec.subdomain ?? "";
}

/**
 * A Deployment replaces its pod at every change of its template. While it is paused it does not, but still brings a lost
 * pod back; so it is paused from the moment it has a pod until the parent allows that pod to be replaced.
 */
function keepsItsPod({ spec }: ValkeyNode, view: NodeView): boolean {
  const pod = podOf(view);
  return pod !== undefined && !spec.suspended && pod.metadata.uid !== spec.replacePod;
}

function templateOf({ spec }: ValkeyNode) {
  const { labels = {}, annotations = {}, spec: pod } = spec.podTemplate;
  return { metadata: { labels, annotations: { ...annotations, [REVISION_ANNOTATION]: spec.podRevision } }, spec: pod };
}

/** ConfigMaps and Secrets without which kubelet cannot start the pod. */
export interface Mounts {
  readonly configMaps: readonly string[];
  readonly secrets: readonly string[];
}

export function mountsOf({ spec }: ValkeyNode): Mounts {
  const { volumes = [], containers, initContainers = [] } = spec.podTemplate.spec;
  const variables = [...initContainers, ...containers].flatMap(({ env = [] }) => env);
  const configMaps = volumes.flatMap(({ configMap }) =>
    configMap === undefined || configMap.optional === true ? [] : [configMap.name],
  );
  const secrets = [
    ...volumes.map(({ secret }) => (secret?.optional === true ? undefined : secret?.secretName)),
    ...variables.map(({ valueFrom }) => valueFrom?.secretKeyRef?.name),
  ];
  return { configMaps: named(configMaps), secrets: named(secrets) };
}

function named(names: readonly (string | undefined)[]): string[] {
  return [...new Set(names.filter((name) => name !== undefined))];
}
