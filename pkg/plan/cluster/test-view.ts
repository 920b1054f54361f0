/** A cluster for tests: whole and healthy, unless told otherwise. */
import { parseValkeyCluster, type ValkeyCluster } from "../../api/cluster.ts";
import type { ValkeyClusterSpec } from "../../api/cluster-spec.ts";
import type { ValkeyClusterStatus } from "../../api/cluster-status.ts";
import { API_VERSION } from "../../api/kind.ts";
import { SLOTS, slotsOfShard } from "../formation/slots.ts";
import { knownNode, running } from "../formation/test-members.ts";
import type { ClusterTable, MemberView, NodeView } from "../formation/view.ts";
import { FINALIZER } from "../lifecycle/deletion.ts";
import { formOf } from "../lifecycle/form.ts";
import { desiredObjects } from "../objects/desired.ts";
import { inputOf, resolved } from "../objects/fixtures.ts";
import type { DesiredNode } from "../objects/types.ts";
import type { AgentNow, ClusterView, NodeNow, PodNow } from "./view.ts";

export const NOW = new Date("2026-05-01T12:00:00Z");

export interface ViewOptions {
  readonly spec?: ValkeyClusterSpec;
  readonly status?: ValkeyClusterStatus;
  readonly metadata?: Partial<ValkeyCluster["metadata"]>;
  /** Changes a node that would be healthy. */
  readonly change?: (node: NodeNow) => NodeNow;
}

export function clusterView({
  spec = {},
  status,
  metadata = {},
  change = (node) => node,
}: ViewOptions = {}): ClusterView {
  const asked = resolved(spec);
  const desired = desiredObjects(inputOf(spec));
  const nodes = desired.nodes.map((node) => healthyNode(node, asked.masterCount, asked.replicasPerMaster)).map(change);
  return {
    cluster: clusterOf(spec, status, metadata),
    asked,
    running: formOf(asked, {}),
    effective: { spec: asked, holds: [] },
    desired,
    isSettled: () => true,
    nodes,
    claims: [],
    pods: nodes.flatMap(({ name, pod }) => (pod === undefined ? [] : [{ name: pod.metadata.name, node: name }])),
    strangersForMs: new Map(),
    drift: undefined,
    failoverOutcome: undefined,
    facts: { namespace: "prod", nodes: nodes.map(({ name, pod }) => ({ node: name, pod })) },
    serverCertificate: undefined,
  };
}

function clusterOf(
  spec: ValkeyClusterSpec,
  status: ValkeyClusterStatus | undefined,
  metadata: Partial<ValkeyCluster["metadata"]>,
): ValkeyCluster {
  const own = { name: "shop", namespace: "prod", uid: "u", generation: 4, finalizers: [FINALIZER], ...metadata };
  return parseValkeyCluster({
    apiVersion: API_VERSION,
    kind: "ValkeyCluster",
    metadata: own,
    spec,
    ...(status === undefined ? {} : { status }),
  });
}

const idOf = (shard: number, member: number) => `id-${shard}-${member}`;

function healthyNode(wanted: DesiredNode, shards: number, replicas: number): NodeNow {
  const { shard, member } = wanted.spec;
  const { name } = wanted.metadata;
  const state = healthyState(shard, member, { shards, replicas });
  const agent: AgentNow = {
    contact: state.contact,
    busy: undefined,
    met: [],
    failure: undefined,
    facts: undefined,
    drifts: [],
    pushed: state.pushed,
  };
  return {
    name,
    shard,
    member,
    ran: undefined,
    claim: undefined,
    agent,
    node: {
      apiVersion: API_VERSION,
      kind: "ValkeyNode",
      metadata: {
        name,
        namespace: "prod",
        creationTimestamp: "2026-05-01T11:00:00Z",
      },
      spec: wanted.spec,
      status: { nodeId: idOf(shard, member) },
    },
    pod: readyPod(name, `10.0.${shard}.${member}`, wanted.spec.podRevision),
  };
}

function healthyState(
  shard: number,
  member: number,
  { shards, replicas }: { shards: number; replicas: number },
): MemberView {
  const own = [slotsOfShard(shard, shards)];
  const others = Array.from({ length: shards }, (_, index) => index).flatMap((index) =>
    Array.from({ length: replicas + 1 }, (_, place) => ({ shard: index, member: place })),
  );
  const nodes = others
    .filter((other) => other.shard !== shard || other.member !== member)
    .map((other) => ({
      ...knownNode(0),
      id: idOf(other.shard, other.member),
      ip: `10.0.${other.shard}.${other.member}`,
      role: other.member === 0 ? ("primary" as const) : ("replica" as const),
      primaryId: other.member === 0 ? "" : idOf(other.shard, 0),
      slots: other.member === 0 ? [slotsOfShard(other.shard, shards)] : [],
    }));
  const table: Partial<ClusterTable> = {
    id: idOf(shard, member),
    configEpoch: shard + 1,
    currentEpoch: shards,
    slotsAssigned: SLOTS,
    nodes,
    ...(member === 0
      ? {
          role: "primary",
          slots: own,
        }
      : {
          role: "replica",
          primaryId: idOf(shard, 0),
        }),
  };
  const state: Partial<NodeView> = { keys: 5, applied: { configurationHash: "c", secretsHash: "s" } };
  return running(member, table, state, { shard });
}

function readyPod(node: string, ip: string, revision: string): PodNow {
  const started = { ready: true, started: true, restartCount: 0, image: "", lastState: {} };
  const status = { name: "agent", ...started, state: { running: { startedAt: undefined } } };
  return {
    metadata: { name: `${node}-0`, uid: `pod-${node}` },
    spec: { nodeName: "machine" },
    status: {
      phase: "Running",
      podIP: ip,
      initContainerStatuses: [status],
      containerStatuses: [
        {
          ...status,
          name: "valkey",
        },
      ],
      conditions: [
        {
          type: "Ready",
          status: "True",
          reason: "",
          message: "",
          lastTransitionTime: undefined,
        },
      ],
    },
    revision,
    zone: "zone-1",
  };
}
