/**
 * Troubled pods as kubelet and scheduler of Kubernetes 1.36 showed them, reduced to what is kept of them. Times are
 * moved to one afternoon.
 */
import * as v from "valibot";
import { type ClaimFacts, type ClusterFacts, type NodeFacts, type PodFacts, podStatusFacts } from "./facts.ts";

export const NOW = new Date("2026-11-16T12:10:00Z");
const BEGAN = "2026-11-16T12:00:00Z";
const LATELY = "2026-11-16T12:08:00Z";

const unready = { type: "Ready", status: "False", reason: "ContainersNotReady", lastTransitionTime: BEGAN };
const valkey = { name: "valkey", image: "docker.io/valkey/valkey:9.1" };
const running = { running: { startedAt: BEGAN } };
const ended = { exitCode: 1, finishedAt: LATELY, reason: "Error" };

interface PodTexts {
  readonly status: object;
  readonly nodeName?: string;
  readonly deletionTimestamp?: string;
  readonly finalizers?: readonly string[];
}

export function podOf(name: string, { status, nodeName = "node-1", ...metadata }: PodTexts): PodFacts {
  return {
    metadata: { name, creationTimestamp: BEGAN, ...metadata },
    spec: nodeName === "" ? {} : { nodeName },
    status: v.parse(podStatusFacts, { phase: "Pending", startTime: BEGAN, ...status }),
  };
}

interface ClaimTexts {
  readonly phase: string;
  readonly storageClassName?: string;
  readonly asked?: string;
  readonly has?: string;
  readonly conditions?: { type: string; status: string; lastTransitionTime?: string }[];
}

/** The claim of the node c-0-0. */
export function claimOf({ phase, storageClassName, asked = "1Gi", has, conditions = [] }: ClaimTexts): ClaimFacts {
  return {
    metadata: { name: "c-0-0-data" },
    spec: { storageClassName, resources: { requests: { storage: asked } } },
    status: { phase, capacity: has === undefined ? {} : { storage: has }, conditions },
  };
}

/** The only status of a pod with one container. */
export function container(status: object): object {
  return { conditions: [unready], containerStatuses: [{ ...valkey, ...status }] };
}

function waiting(reason: string, message: string): object {
  return container({ state: { waiting: { reason, message } } });
}

function unscheduled(message: string, reason = "Unschedulable"): object {
  return { conditions: [{ type: "PodScheduled", status: "False", reason, message, lastTransitionTime: BEGAN }] };
}

const PULL =
  'Back-off pulling image "registry.example.invalid/none:1": ErrImagePull: failed to pull and unpack image "registry.example.invalid/none:1": failed to resolve image: failed to do request: Head "https://registry.example.invalid/v2/none/manifests/1": dial tcp: lookup registry.example.invalid on 10.255.255.53:53: read udp 10.89.0.12:44185->10.255.255.53:53: i/o timeout';
const RUN =
  'failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: exec: "/no/such/program": stat /no/such/program: no such file or directory';
const AFTERTHOUGHT =
  "no new claims to deallocate, preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.";

export const STATUS = {
  healthy: { phase: "Running", containerStatuses: [{ ...valkey, ready: true, started: true, state: running }] },
  badImage: container({
    image: "registry.example.invalid/none:1",
    state: { waiting: { reason: "ImagePullBackOff", message: PULL } },
  }),
  badImageName: container({
    image: "Bad//Name",
    state: {
      waiting: {
        reason: "InvalidImageName",
        message:
          'Failed to apply default image tag "Bad//Name": couldn\'t parse image name "Bad//Name": invalid reference format: repository name (/Name) must be lowercase',
      },
    },
  }),
  missingSecret: waiting("CreateContainerConfigError", 'secret "missing" not found'),
  noSuchProgram: container({
    restartCount: 3,
    state: { waiting: { reason: "RunContainerError", message: RUN } },
    lastState: { terminated: { exitCode: 128, finishedAt: LATELY, message: RUN, reason: "StartError" } },
  }),
  /** Between two tries kubelet shows the end of the last one for a while, and CrashLoopBackOff later. */
  crashed: {
    phase: "Running",
    ...container({ restartCount: 3, state: { terminated: ended }, lastState: { terminated: ended } }),
  },
  crashLoop: {
    phase: "Running",
    ...container({
      restartCount: 7,
      state: {
        waiting: {
          reason: "CrashLoopBackOff",
          message: "back-off 5m0s restarting failed container=valkey pod=crash_t(6a2f)",
        },
      },
      lastState: { terminated: ended },
    }),
  },
  outOfMemory: {
    phase: "Running",
    ...container({
      restartCount: 1,
      state: {
        waiting: {
          reason: "CrashLoopBackOff",
          message: "back-off 10s restarting failed container=valkey pod=oom_oom(847a)",
        },
      },
      lastState: { terminated: { exitCode: 137, finishedAt: LATELY, reason: "OOMKilled" } },
    }),
  },
  agentCrashed: {
    phase: "Running",
    conditions: [unready],
    initContainerStatuses: [
      { name: "agent", image: "sidecar:1", restartCount: 3, started: false, state: { terminated: ended } },
    ],
    containerStatuses: [{ ...valkey, ready: true, started: true, state: running }],
  },
  agentStarting: {
    conditions: [
      { type: "Initialized", status: "False", reason: "ContainersNotInitialized", lastTransitionTime: BEGAN },
    ],
    initContainerStatuses: [{ name: "agent", image: "sidecar:1", started: false, state: running }],
    containerStatuses: [{ ...valkey, state: { waiting: { reason: "PodInitializing" } } }],
  },
  noCpu: unscheduled(`0/3 nodes are available: 3 Insufficient cpu. ${AFTERTHOUGHT}`),
  noLabel: unscheduled(`0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector. ${AFTERTHOUGHT}`),
  noVolume: unscheduled("0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found"),
  noClaim: unscheduled('0/3 nodes are available: persistentvolumeclaim "nothere" not found. not found'),
} as const;

export const FAILED_CREATE = {
  quota:
    'Create Pod set-0 in StatefulSet set failed error: pods "set-0" is forbidden: exceeded quota: none, requested: pods=1, used: pods=0, limited: pods=0',
  quotaOfDeployment:
    '(combined from similar events): Error creating: pods "dep-86796446f4-mnb4n" is forbidden: exceeded quota: none, requested: pods=1, used: pods=0, limited: pods=0',
  account:
    'Create Pod noaccount-0 in StatefulSet noaccount failed error: pods "noaccount-0" is forbidden: error looking up service account q/missing: serviceaccount "missing" not found',
  podSecurity:
    'Create Pod set-0 in StatefulSet set failed error: pods "set-0" is forbidden: violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false (container "valkey" must set securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container "valkey" must set securityContext.capabilities.drop=["ALL"])',
} as const;

export const SILENT_AGENT = { needsRestart: [], refusals: [], troubles: [] } as const;

export function nodeOf(node: string, rest: Omit<NodeFacts, "node"> = {}): NodeFacts {
  return { node, ...rest };
}

export function clusterOf(nodes: readonly NodeFacts[], rest: Partial<ClusterFacts> = {}): ClusterFacts {
  return { namespace: "team", nodes, ...rest };
}

/** A cluster of one node whose pod has this status. */
export function onePod(status: object, rest: Partial<ClusterFacts> = {}): ClusterFacts {
  return clusterOf([nodeOf("c-0-0", { pod: podOf("c-0-0-0", { status }) })], rest);
}
