/** Nodes for tests, as their cluster would have made them. */
import type { ValkeyClusterSpec } from "../../api/cluster-spec.ts";
import { API_VERSION } from "../../api/kind.ts";
import type { ValkeyNode, ValkeyNodeStatus } from "../../api/node.ts";
import { CLUSTER, OPERATOR, resolved } from "../objects/fixtures.ts";
import { REVISION_ANNOTATION } from "../objects/names.ts";
import { nodesOf } from "../objects/nodes.ts";
import { wireOf } from "../objects/wire.ts";
import type { NodePod, NodeView, WorkloadView } from "./view.ts";

export function nodeOf(spec: ValkeyClusterSpec = {}, status?: ValkeyNodeStatus): ValkeyNode {
  const wire = wireOf(undefined);
  const [node] = nodesOf({ cluster: CLUSTER, spec: resolved(spec), operator: OPERATOR, wire }, []);
  if (node === undefined) throw new Error("a cluster has nodes");
  const { name, namespace, labels, annotations } = node.metadata;
  const metadata = { name, namespace, uid: "node-uid", generation: 1, labels, annotations };
  return { apiVersion: API_VERSION, kind: "ValkeyNode", metadata, spec: node.spec, status };
}

export function viewOf(view: Partial<NodeView> = {}): NodeView {
  return { missing: [], pods: [], roleForMs: 60_000, ...view };
}

export const WORKLOAD: WorkloadView = {
  serviceName: "shop-headless",
  podManagementPolicy: "Parallel",
  selector: { "valkey.io/cr": "shop", "valkey.io/kind": "valkeycluster", "valkey.io/node": "shop-0-0" },
  terminating: false,
};

interface PodOptions {
  readonly uid?: string;
  readonly revision?: string;
  readonly ready?: boolean;
  readonly phase?: string;
  readonly going?: boolean;
  readonly labels?: Record<string, string>;
  readonly unscheduled?: string;
  /** Whether each of its containers has ended. */
  readonly ended?: readonly boolean[];
}

export function podWith(options: PodOptions = {}): NodePod {
  const { uid = "pod-uid", ready = true, phase = "Running", labels = {} } = options;
  return {
    metadata: { name: "shop-0-0-0", uid, labels, ...marksOf(options) },
    spec: { nodeName: "node-1" },
    status: {
      phase,
      podIP: "10.0.0.1",
      startTime: undefined,
      conditions: [condition("Ready", ready), ...unscheduledOf(options)],
      initContainerStatuses: [],
      containerStatuses: (options.ended ?? []).map((over, n) => container(`c${n}`, over)),
    },
  };
}

function container(name: string, over: boolean): NodePod["status"]["containerStatuses"][number] {
  const state = over
    ? { terminated: { reason: "Completed", exitCode: 0, finishedAt: undefined } }
    : { running: { startedAt: undefined } };
  return { name, image: "", ready: !over, restartCount: 0, state, lastState: {} };
}

function marksOf({ revision, going }: PodOptions) {
  return {
    ...(revision === undefined ? {} : { annotations: { [REVISION_ANNOTATION]: revision } }),
    ...(going === true ? { deletionTimestamp: "2026-01-02T03:04:05Z" } : {}),
  };
}

function condition(type: string, holds: boolean, message = "") {
  return { type, status: holds ? "True" : "False", reason: "", message };
}

function unscheduledOf({ unscheduled }: PodOptions) {
  return unscheduled === undefined ? [] : [condition("PodScheduled", false, unscheduled)];
}
