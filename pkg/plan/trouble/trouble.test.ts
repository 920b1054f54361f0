import { expect, test } from "bun:test";
import * as fc from "fast-check";
import type { ClaimFacts, ClusterFacts } from "./facts.ts";
import { claimOf, clusterOf, FAILED_CREATE, NOW, nodeOf, onePod, podOf, SILENT_AGENT, STATUS } from "./test-facts.ts";
import { type Trouble, troublesOf } from "./trouble.ts";

function only(facts: ClusterFacts): Trouble {
  const { troubles } = troublesOf(facts, NOW);
  expect(troubles).toHaveLength(1);
  const [trouble] = troubles;
  if (trouble === undefined) throw new Error("there is no trouble");
  return trouble;
}

const message = (facts: ClusterFacts) => only(facts).message;
const reason = (facts: ClusterFacts) => only(facts).reason;

test("a healthy cluster has no trouble", () => {
  expect(troublesOf(onePod(STATUS.healthy), NOW)).toEqual({ troubles: [], lookAgainMs: undefined });
});

test("an image that cannot be pulled is told with its cause and the field to correct", () => {
  expect(only(onePod(STATUS.badImage))).toEqual({
    reason: "ImageCannotBePulled",
    severity: "error",
    nodes: ["c-0-0"],
    message:
      'image registry.example.invalid/none:1 of container valkey cannot be pulled (c-0-0-0): failed to resolve image: failed to do request: Head "https://registry.example.invalid/v2/none/manifests/1": dial tcp: lookup registry.example.invalid on 10.255.255.53:53: i/o timeout. Correct spec.valkeyImage, or put the image where the Nodes can reach it; a private registry needs spec.valkeyImage.imagePullSecrets.',
  });
  expect(message(onePod(STATUS.badImageName))).toContain("must be lowercase");
});

test("what the scheduler says is told without its afterthoughts, with what helps", () => {
  expect(message(onePod(STATUS.noCpu))).toBe(
    "no Node can take these pods (c-0-0-0): 0/3 nodes are available: 3 Insufficient cpu. Add Nodes, or ask for less in spec.resources.requests.",
  );
  expect(message(onePod(STATUS.noLabel))).toContain("spec.nodeSelector");
});

test("a pod that waits for its claim is told by the claim and its class", () => {
  const pod = podOf("c-0-0-0", { status: STATUS.noVolume, nodeName: "" });
  const claim = claimOf({ phase: "Pending", storageClassName: "fast" });
  const nodes = [nodeOf("c-0-0", { pod, claim })];
  const storageClasses = [{ name: "standard", isDefault: true }];
  expect(message(clusterOf(nodes, { storageClasses }))).toStartWith(
    "volumes wait for StorageClass fast, which does not exist; this cluster has standard (c-0-0-data). Make that",
  );
  expect(message(clusterOf(nodes))).toContain("kubectl describe pvc c-0-0-data -n team");
  const unnamed = [nodeOf("c-0-0", { pod, claim: claimOf({ phase: "Pending" }) })];
  expect(message(clusterOf(unnamed, { storageClasses: [] }))).toContain("default StorageClass");
  expect(message(onePod(STATUS.noClaim))).toContain("kubectl get pvc");
});

test("a volume that is lost is told whatever the pod does", () => {
  const claim = claimOf({ phase: "Lost" });
  expect(reason(clusterOf([nodeOf("c-0-0", { claim, pod: podOf("p", { status: STATUS.healthy }) })]))).toBe(
    "VolumeLost",
  );
});

test("a volume that has not grown yet is told as such, and nothing is wrong with it", () => {
  const pod = podOf("p", { status: STATUS.healthy });
  const told = (claim: ClaimFacts) => troublesOf(clusterOf([nodeOf("c-0-0", { claim, pod })]), NOW).troubles;
  const grows = { phase: "Bound", asked: "2Gi", has: "1Gi" };
  expect(told(claimOf(grows))).toMatchObject([{ reason: "VolumeGrows", severity: "notice" }]);
  expect(told(claimOf(grows))[0]?.message).toContain("volumes have 1Gi of 2Gi: the storage has not made them grow yet");
  const waits = (seconds: number) => {
    const lastTransitionTime = new Date(NOW.getTime() - seconds * 1000).toISOString();
    return claimOf({ ...grows, conditions: [{ type: "FileSystemResizePending", status: "True", lastTransitionTime }] });
  };
  expect(told(waits(10))[0]?.message).toContain("the file systems in them have still to grow");
  expect(told(waits(70))[0]?.message).toContain("grow when they are mounted anew");
  expect(troublesOf(clusterOf([nodeOf("c-0-0", { claim: waits(10), pod })]), NOW).lookAgainMs).toBe(50_000);
  expect(told(claimOf({ ...grows, has: "2048Mi" }))).toEqual([]);
  expect(told(claimOf({ phase: "Pending", asked: "2Gi" }))).toEqual([]);
});

test("a pod that may not be made is told by what refuses it", () => {
  const refused = (failedCreate: string) =>
    clusterOf([nodeOf("c-0-0", { workload: { conditions: [], failedCreate } })]);
  expect(message(refused(FAILED_CREATE.quota))).toBe(
    "the namespace's ResourceQuota does not allow more (c-0-0): exceeded quota: none, requested: pods=1, used: pods=0, limited: pods=0. Raise the quota, or ask for less: fewer pods, smaller spec.resources, a smaller spec.pvc.storageSize.",
  );
  expect(reason(refused(FAILED_CREATE.account))).toBe("ServiceAccountMissing");
  expect(message(refused(FAILED_CREATE.podSecurity))).toContain("violates PodSecurity");
  const condition = {
    type: "ReplicaFailure",
    status: "True",
    reason: "FailedCreate",
    message: FAILED_CREATE.quotaOfDeployment,
  };
  expect(reason(clusterOf([nodeOf("c-0-0", { workload: { conditions: [condition] } })]))).toBe("QuotaExceeded");
});

test("an old refusal is no trouble when the pod is there", () => {
  const pod = podOf("c-0-0-0", { status: STATUS.healthy });
  const workload = { conditions: [], failedCreate: FAILED_CREATE.quota };
  expect(troublesOf(clusterOf([nodeOf("c-0-0", { pod, workload })]), NOW).troubles).toEqual([]);
});

test("a container that cannot start, or ends again and again, is told with where to look", () => {
  expect(message(onePod(STATUS.missingSecret))).toContain('secret "missing" not found');
  expect(message(onePod(STATUS.noSuchProgram))).toContain("no such file or directory");
  for (const status of [STATUS.crashed, STATUS.crashLoop]) {
    expect(message(onePod(status))).toBe(
      "container valkey ends again and again (c-0-0-0): it ended with 1. kubectl logs c-0-0-0 -c valkey --previous -n team shows why; a wrong value in spec.config is a usual cause.",
    );
  }
  expect(message(onePod(STATUS.agentCrashed))).toContain("container agent ends");
  expect(message(onePod(STATUS.agentStarting))).toContain("is not done starting");
});

test("a container that crashed and has run for a minute since has got over it", () => {
  const running = (startedAt: string) => ({
    phase: "Running",
    containerStatuses: [
      {
        name: "valkey",
        restartCount: 5,
        state: { running: { startedAt } },
        lastState: { terminated: { exitCode: 1, reason: "Error", finishedAt: "2026-11-16T12:05:00Z" } },
      },
    ],
  });
  expect(only(onePod(running("2026-11-16T12:09:30Z")))).toMatchObject({ reason: "CrashLoop" });
  expect(troublesOf(onePod(running("2026-11-16T12:09:30Z")), NOW).lookAgainMs).toBe(30_000);
  expect(troublesOf(onePod(running("2026-11-16T12:08:50Z")), NOW).troubles).toEqual([]);
});

test("a server that was killed for memory is told by what to raise, not as a crash", () => {
  expect(message(onePod(STATUS.outOfMemory))).toBe(
    "container valkey was killed because it needed more memory than its limit (c-0-0-0). Raise spec.resources.limits.memory, or lower maxmemory in spec.config: buffers of clients and replicas, and the copy made while saving, come on top of it.",
  );
});

test("one end long ago is no crash loop, one kill for memory is told for a while", () => {
  const once = (end: object) => ({
    phase: "Running",
    containerStatuses: [
      { name: "valkey", restartCount: 1, state: { running: {} }, lastState: { terminated: { exitCode: 137, ...end } } },
    ],
  });
  const lately = { reason: "OOMKilled", finishedAt: "2026-11-16T12:05:00Z" };
  expect(only(onePod(once(lately)))).toMatchObject({ reason: "OutOfMemory", severity: "warning" });
  expect(troublesOf(onePod(once({ ...lately, finishedAt: "2026-11-16T11:05:00Z" })), NOW).troubles).toEqual([]);
  expect(troublesOf(onePod(once({ ...lately, reason: "Error" })), NOW).troubles).toEqual([]);
  // It stops being told when it is ten minutes old, so somebody has to look again then.
  expect(troublesOf(onePod(once(lately)), NOW).lookAgainMs).toBe(300_000);
});

test("a pod that does not go is told by its Node, its finalizers, or itself", () => {
  const deletionTimestamp = "2026-11-16T12:05:00Z";
  const pod = (finalizers: readonly string[] = []) => podOf("c-0-0-0", { status: {}, deletionTimestamp, finalizers });
  const machines = new Map([["node-1", { ready: false }]]);
  expect(reason(clusterOf([nodeOf("c-0-0", { pod: pod() })], { machines }))).toBe("NodeUnreachable");
  expect(message(clusterOf([nodeOf("c-0-0", { pod: pod(["example.com/hold"]) })]))).toContain("example.com/hold");
  expect(reason(clusterOf([nodeOf("c-0-0", { pod: pod() })]))).toBe("StuckTerminating");
  const soon = podOf("c-0-0-0", { status: {}, deletionTimestamp: NOW.toISOString() });
  expect(troublesOf(clusterOf([nodeOf("c-0-0", { pod: soon })]), NOW)).toEqual({ troubles: [], lookAgainMs: 30_000 });
});

test("a Node that is not ready or gone hides what follows from it", () => {
  const facts = (machines: ClusterFacts["machines"]) => onePod(STATUS.crashLoop, { machines });
  expect(reason(facts(new Map([["node-1", { ready: false, since: "2026-11-16T12:01:00Z" }]])))).toBe("NodeNotReady");
  expect(reason(facts(new Map()))).toBe("NodeGone");
});

test("what servers refuse names the field, what needs a restart is a notice", () => {
  const agent = {
    ...SILENT_AGENT,
    needsRestart: ["io-threads"],
    refusals: [
      { name: "maxmemory-policy", message: "argument(s) must be one of the following: volatile-lru, noeviction" },
      { name: "acl", message: "Error in applying operation '+@nothing'" },
    ],
    troubles: [{ reason: "DiskAlmostFull", message: "the volume is 95 % full." }],
  };
  const { troubles } = troublesOf(clusterOf([nodeOf("c-0-0", { agent })]), NOW);
  expect(troubles.map((trouble) => `${trouble.severity} ${trouble.reason}`)).toEqual([
    "error AclRefused",
    "error SettingRefused",
    "warning DiskAlmostFull",
    "notice RestartNeeded",
  ]);
  expect(troubles[1]?.message).toContain("Correct spec.config.maxmemory-policy");
  expect(troubles[2]?.message).toBe("the volume is 95 % full (c-0-0).");
});

test("what a cluster refers to and does not exist is told once, for the whole cluster", () => {
  const given = [
    { reason: "TlsMissing", message: "spec.tls names ValkeyClusterTls x, which does not exist: make it." },
  ];
  expect(only(clusterOf([], { given }))).toEqual({
    reason: "TlsMissing",
    severity: "error",
    nodes: [],
    message: "spec.tls names ValkeyClusterTls x, which does not exist: make it.",
  });
  const failures = ["[forbidden] create PersistentVolumeClaim team/c-0-0-data: exceeded quota: storage"];
  expect(reason(clusterOf([], { failures }))).toBe("QuotaExceeded");
});

test("the same trouble of a thousand pods is one sentence", () => {
  const nodes = Array.from({ length: 1000 }, (_, n) =>
    nodeOf(`c-${n}-0`, { pod: podOf(`c-${n}-0-0`, { status: STATUS.noCpu, nodeName: "" }) }),
  );
  const trouble = only(clusterOf(nodes));
  expect(trouble.message).toStartWith(
    "no Node can take these pods (c-0-0-0, c-1-0-0, c-2-0-0 and 997 more): 0/3 nodes",
  );
  expect(trouble.nodes).toHaveLength(1000);
});

test("whatever is wrong with whom, the report stays short and does not depend on the order", () => {
  const statuses = Object.values(STATUS);
  const pods = fc.array(fc.integer({ min: 0, max: statuses.length - 1 }), { maxLength: 60 });
  const images = fc.array(fc.string({ maxLength: 400 }), { maxLength: 40 });
  fc.assert(
    fc.property(pods, images, (chosen, texts) => {
      const nodes = [
        ...chosen.map((which, n) =>
          nodeOf(`c-${n}-0`, { pod: podOf(`c-${n}-0-0`, { status: statuses[which] ?? {} }) }),
        ),
        ...texts.map((text, n) =>
          nodeOf(`d-${n}-0`, { agent: { ...SILENT_AGENT, refusals: [{ name: text, message: text.repeat(9) }] } }),
        ),
      ];
      const { troubles } = troublesOf(clusterOf(nodes), NOW);
      expect(troubles.length).toBeLessThanOrEqual(20);
      for (const trouble of troubles) expect(trouble.message.length).toBeLessThanOrEqual(1024);
      expect(troublesOf(clusterOf(nodes.toReversed()), NOW).troubles).toEqual(troubles);
    }),
    { numRuns: 60 },
  );
});
