/** Clusters to draw in tests, from objects as the API server gives them. */
import { CLUSTERS, NODES_OF_CLUSTERS, VALKEY_PODS } from "./cluster-objects.ts";
import { type Picture, pictureOf } from "./picture.ts";

export const NOW = new Date("2026-11-16T12:10:00Z");
const SINCE = "2026-11-16T12:09:30Z";
const SLOTS = 16_384;

interface ClusterOptions {
  readonly shards: number;
  readonly replicas: number;
  readonly status?: object;
  /** Names of nodes whose pods are in trouble, with kubelet's word for it. */
  readonly stuck?: Readonly<Record<string, string>>;
}

export function clusterPicture({ shards, replicas, status = {}, stuck = {} }: ClusterOptions): Picture {
  const places = Array.from({ length: shards }, (_, shard) =>
    Array.from({ length: replicas + 1 }, (__, member) => ({ shard, member })),
  ).flat();
  return pictureOf({
    cluster: CLUSTERS.parse({
      metadata: { name: "cache", namespace: "team", generation: 2 },
      spec: {},
      status: { ...healthyStatus(shards, replicas), ...status },
    }),
    nodes: places.map(({ shard, member }) => nodeObject(shard, member)),
    pods: places.map(({ shard, member }) => podObject(shard, member, stuck[`cache-${shard}-${member}`])),
  });
}

function healthyStatus(shards: number, replicas: number) {
  const pods = shards * (replicas + 1);
  const condition = (type: string, state: string, reason: string, message = "") => ({
    type,
    status: state,
    reason,
    message,
    lastTransitionTime: SINCE,
  });
  return {
    phase: "Running",
    observedGeneration: 2,
    message: `${shards} shards, ${pods} of ${pods} pods ready, ${SLOTS} slots served`,
    masterCount: shards,
    readyMasters: shards,
    pods,
    readyPods: pods,
    slotsAssigned: SLOTS,
    version: "9.1.2",
    tls: { enabled: false },
    acl: { enabled: false },
    shards: Array.from({ length: shards }, (_, index) => shardStatus(index, shards, replicas)),
    conditions: [
      condition("Ready", "True", "AllShardsHealthy"),
      condition("Progressing", "False", "Settled"),
      condition("Degraded", "False", "AsExpected"),
    ],
  };
}

function shardStatus(index: number, shards: number, replicas: number) {
  const first = Math.ceil((index * SLOTS) / shards);
  const last = Math.ceil(((index + 1) * SLOTS) / shards) - 1;
  return {
    index,
    primary: `cache-${index}-0`,
    slots: `${first}-${last}`,
    replicas: Array.from({ length: replicas }, (_, n) => ({
      name: `cache-${index}-${n + 1}`,
      lagBytes: n * 1500,
      inSync: true,
    })),
  };
}

const zoneOf = (shard: number, member: number) => `zone-${(shard + member) % 3}`;

function nodeObject(shard: number, member: number) {
  const name = `cache-${shard}-${member}`;
  const pod = { name: `${name}-0`, uid: name, node: `node-${(shard + member) % 3}`, zone: zoneOf(shard, member) };
  return NODES_OF_CLUSTERS.parse({
    metadata: { name },
    spec: { shard, member },
    status: { ready: true, version: "9.1.2", pod },
  });
}

function podObject(shard: number, member: number, stuck: string | undefined) {
  const name = `cache-${shard}-${member}`;
  const ready = { type: "Ready", status: stuck === undefined ? "True" : "False" };
  const state = stuck === undefined ? { running: {} } : { waiting: { reason: stuck } };
  return VALKEY_PODS.parse({
    metadata: { name: `${name}-0`, labels: { "valkey.io/node": name } },
    spec: { nodeName: `node-${(shard + member) % 3}` },
    status: {
      phase: "Running",
      conditions: [ready],
      containerStatuses: [{ name: "valkey", restartCount: stuck === undefined ? 0 : 4, state }],
    },
  });
}
