import { expect, test } from "bun:test";
import type { CacheChange } from "../../kube/cache-store.ts";
import { CR_LABEL, NODE_LABEL } from "../../plan/objects/names.ts";
import { MACHINES, NODE_PODS, type NodePodObject } from "../node/resources.ts";
import { LastPods } from "./last-pods.ts";

const ENDED = { terminated: { exitCode: 0 } };
const RUNS: object = { running: {} };

function podOf({ phase = "Running", state = RUNS, nodeName = "node-1" } = {}) {
  const metadata = {
    name: "c-0-0-0",
    namespace: "team",
    uid: "uid",
    resourceVersion: "1",
    labels: { [CR_LABEL]: "c", [NODE_LABEL]: "c-0-0" },
  };
  const status = {
    phase,
    containerStatuses: [{ name: "valkey", state }],
    initContainerStatuses: [{ name: "agent", state }],
  };
  return NODE_PODS.parse({
    apiVersion: "v1",
    kind: "Pod",
    metadata,
    spec: nodeName === "" ? {} : { nodeName },
    status,
  });
}

function machineOf(taints: readonly object[] = [], ready = "True") {
  const conditions = [{ type: "Ready", status: ready }];
  return MACHINES.parse({
    metadata: { name: "node-1", uid: "uid", resourceVersion: "1" },
    spec: { taints },
    status: { conditions },
  });
}

function watching() {
  const told: ((change: CacheChange<NodePodObject>) => void)[] = [];
  const pods = new LastPods({ subscribe: (on) => (told.push(on), () => {}) });
  const tell = (change: CacheChange<NodePodObject>) => {
    for (const on of told) on(change);
  };
  return { pods, tell };
}

const MACHINE = { byKey: () => machineOf() };

test("a pod that is gone has ended when kubelet has said so, and else not", () => {
  const { pods, tell } = watching();
  expect(pods.of("team/c", "c-0-0", [], MACHINE)).toBeUndefined();
  tell({ type: "delete", object: podOf() });
  expect(pods.of("team/c", "c-0-0", [], MACHINE)).toMatchObject({ machine: "node-1", reported: false, away: true });
  tell({ type: "delete", object: podOf({ phase: "Succeeded", state: ENDED }) });
  expect(pods.of("team/c", "c-0-0", [], MACHINE)).toMatchObject({ reported: true });
  // Kubernetes calls pods of a lost Node failed; their containers are as kubelet last said.
  tell({ type: "delete", object: podOf({ phase: "Failed" }) });
  expect(pods.of("team/c", "c-0-0", [], MACHINE)).toMatchObject({ reported: false });
});

test("a pod that waits for a Node says nothing of the one before it, one that has a Node does", () => {
  const { pods, tell } = watching();
  tell({ type: "delete", object: podOf({ phase: "Succeeded", state: ENDED }) });
  const waiting = podOf({ phase: "Pending", nodeName: "" });
  tell({ type: "add", object: waiting });
  expect(pods.of("team/c", "c-0-0", [waiting], MACHINE)).toMatchObject({ reported: true });
  tell({ type: "update", old: waiting, object: podOf() });
  expect(pods.of("team/c", "c-0-0", [podOf()], MACHINE)).toMatchObject({ reported: false, away: false });
  expect(pods.of("team/c", "c-0-0", [], MACHINE)).toBeUndefined();
});

test("a Node that is gone or out of service is proof; one that is silent, or that nobody may see, is not", () => {
  const { pods } = watching();
  const state = (machines: Parameters<LastPods["of"]>[3]) => pods.of("team/c", "c-0-0", [podOf()], machines)?.state;
  const taint = { key: "node.kubernetes.io/out-of-service", value: "nodeshutdown", effect: "NoExecute" };
  expect(state({ byKey: () => undefined })).toBe("gone");
  expect(state({ byKey: () => machineOf([taint]) })).toBe("gone");
  expect(state({ byKey: () => machineOf([], "Unknown") })).toBe("not-ready");
  expect(state(MACHINE)).toBe("ready");
  expect(state(undefined)).toBe("unknown");
});
