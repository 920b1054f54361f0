/** ValkeyClusters as a user makes them, for tests and benchmarks: small, quick to schedule, looked at from outside. */
import * as v from "valibot";
import { parseValkeyCluster, type ValkeyCluster } from "../../pkg/api/cluster.ts";
import { type LooseObject, ObjectMetaSchema, PODS, typed } from "../../pkg/kube/resource.ts";
import { type UntilOptions, until } from "../lib/until.ts";
import { apply, kubectl } from "./cluster.ts";
import { client } from "./operator.ts";

export const VALKEY_CLUSTERS = typed(
  { group: "valkey.io", version: "v1alpha1", plural: "valkeyclusters", kind: "ValkeyCluster", namespaced: true },
  parseValkeyCluster,
);

/** Where a cluster is. */
export interface ClusterRef {
  readonly namespace: string;
  readonly name: string;
}

/** Enough for a test on two cores: what a user leaves to the defaults asks for half a core per pod. */
export const SMALL = {
  resources: { requests: { cpu: "10m", memory: "32Mi" }, limits: { memory: "128Mi" } },
  exporter: { enabled: false },
};

export function clusterObject(
  { namespace, name }: ClusterRef,
  spec: Readonly<Record<string, unknown>> = {},
): LooseObject {
  return {
    apiVersion: "valkey.io/v1alpha1",
    kind: "ValkeyCluster",
    metadata: { namespace, name },
    spec: { ...SMALL, ...spec },
  };
}

export async function applyCluster(ref: ClusterRef, spec: Readonly<Record<string, unknown>> = {}): Promise<void> {
  await apply(clusterObject(ref, spec));
}

export async function clusterAt(ref: ClusterRef): Promise<ValkeyCluster> {
  return client.get(VALKEY_CLUSTERS, ref);
}

/** Whether a condition of a cluster is True for its newest spec. */
export function holds({ metadata, status }: ValkeyCluster, type: string): boolean {
  const condition = status?.conditions?.find((one) => one.type === type);
  return condition?.status === "True" && condition.observedGeneration === metadata.generation;
}

export async function clusterReady(ref: ClusterRef, options: UntilOptions = {}): Promise<ValkeyCluster> {
  return clusterWhere(ref, "is Ready", (cluster) => holds(cluster, "Ready"), options);
}

/** Waits; when it was in vain the error shows the status, or nobody would know why. */
export async function clusterWhere(
  ref: ClusterRef,
  what: string,
  accept: (cluster: ValkeyCluster) => boolean,
  options: UntilOptions = {},
): Promise<ValkeyCluster> {
  let last: ValkeyCluster | undefined;
  const look = async () => {
    last = await clusterAt(ref);
    return accept(last) ? last : undefined;
  };
  try {
    return await until(`${ref.name} ${what}`, look, { timeoutMs: 150_000, everyMs: 150, ...options });
  } catch (error) {
    throw new Error(`${ref.name}: ${what}? its status is ${JSON.stringify(last?.status, undefined, 2)}`, {
      cause: error,
    });
  }
}

const PodSchema = v.object({
  metadata: ObjectMetaSchema,
  spec: v.object({ nodeName: v.optional(v.string(), "") }),
  status: v.object({
    podIP: v.optional(v.string(), ""),
    conditions: v.optional(v.array(v.object({ type: v.string(), status: v.string() })), []),
    containerStatuses: v.optional(
      v.array(v.object({ name: v.string(), restartCount: v.number(), containerID: v.optional(v.string(), "") })),
      [],
    ),
    initContainerStatuses: v.optional(
      v.array(v.object({ name: v.string(), restartCount: v.number(), containerID: v.optional(v.string(), "") })),
      [],
    ),
  }),
});
export type ClusterPod = v.InferOutput<typeof PodSchema>;
const CLUSTER_PODS = typed(PODS, (value) => v.parse(PodSchema, value));

/** Its pods in the order of their names. */
export async function podsOf({ namespace, name }: ClusterRef): Promise<ClusterPod[]> {
  return podsLabelled(namespace, `valkey.io/cr=${name}`);
}

export async function podsLabelled(namespace: string, labelSelector: string): Promise<ClusterPod[]> {
  const { items } = await client.list(CLUSTER_PODS, { namespace, labelSelector });
  return items.toSorted((a, b) => a.metadata.name.localeCompare(b.metadata.name, "en", { numeric: true }));
}

/** Every container of its pods, by an id that changes with each restart. */
export async function containersOf(ref: ClusterRef): Promise<readonly string[]> {
  return (await podsOf(ref)).flatMap(({ metadata, status }) =>
    [...status.containerStatuses, ...status.initContainerStatuses].map(
      ({ name, containerID }) => `${metadata.name} ${metadata.uid ?? ""} ${name} ${containerID}`,
    ),
  );
}

/** Where its servers listen without TLS. */
export async function addressesOf(
  ref: ClusterRef,
): Promise<readonly { readonly host: string; readonly port: number }[]> {
  return (await podsOf(ref)).map(({ status }) => ({ host: status.podIP, port: 6379 }));
}

/** What valkey-cli in a pod says. */
export async function cli(ref: ClusterRef, pod: string, ...words: readonly string[]): Promise<string> {
  const output = await kubectl(["exec", "-n", ref.namespace, pod, "-c", "valkey", "--", "valkey-cli", ...words]);
  return output.trim();
}
