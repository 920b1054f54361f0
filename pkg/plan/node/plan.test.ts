import { describe, expect, test } from "bun:test";
import { nodeOf, podWith, viewOf, WORKLOAD } from "./fixtures.ts";
import { mountsOf, workloadOf } from "./objects.ts";
import { planNode } from "./plan.ts";

const now = new Date("2026-01-02T03:04:05Z");
const PVC = { pvc: { storageSize: "1Gi" } };

function steps(...args: Parameters<typeof planNode> extends [...infer A, Date] ? A : never): string[] {
  return planNode(...args, now).steps.map((step) => step.do);
}

describe("a node", () => {
  test("gets its claim, its Service and its workload, in this order", () => {
    expect(steps(nodeOf(PVC), viewOf())).toEqual(["apply-claim", "apply-service", "apply-workload"]);
    expect(steps(nodeOf(), viewOf())).toEqual(["apply-service", "apply-workload"]);
  });

  test("has no pod made before everything that it mounts is there", () => {
    const view = viewOf({ missing: ["Secret shop-0-0-identity"] });
    expect(steps(nodeOf(PVC), view)).toEqual(["apply-claim", "apply-service"]);
    expect(planNode(nodeOf(), view, now).holds).toEqual([
      { name: "mounts-missing", reason: "Secret shop-0-0-identity" },
    ]);
    expect(steps(nodeOf({ suspended: true }), view)).toContain("apply-workload");
    expect(steps(nodeOf(), { ...view, workload: WORKLOAD })).toContain("apply-workload");
  });

  test("mounts what its pod names", () => {
    expect(mountsOf(nodeOf({ acl: "users" }))).toEqual({
      configMaps: ["shop-config"],
      secrets: ["shop-secrets", "shop-0-0-identity", "shop-exporter"],
    });
  });

  test.each([
    ["spec.serviceName", { ...WORKLOAD, serviceName: "old" }],
    ["spec.podManagementPolicy", { ...WORKLOAD, podManagementPolicy: "OrderedReady" }],
    ["spec.selector", { ...WORKLOAD, selector: { app: "valkey" } }],
  ])("whose workload has another %s gets a new one around the same pod", (field, workload) => {
    const { steps } = planNode(nodeOf(), viewOf({ workload, pods: [podWith()] }), now);
    expect(steps.at(-1)).toEqual({ do: "recreate-workload", field });
  });

  test("waits while its workload goes", () => {
    expect(steps(nodeOf(), viewOf({ workload: { ...WORKLOAD, terminating: true } }))).toEqual(["apply-service"]);
  });

  test.each([
    ["1Gi", "5Gi"],
    ["5120Mi", "5120Mi"],
    ["6Gi", "6Gi"],
  ])("asks for 5Gi where a claim has %s: then it has %s, and that comes last", (requested, storage) => {
    const claim = { requested, resizing: false, terminating: false };
    const step = planNode(nodeOf({ pvc: { storageSize: "5Gi" } }), viewOf({ claim }), now).steps.at(-1);
    expect(step).toMatchObject({ do: "apply-claim", object: { spec: { resources: { requests: { storage } } } } });
    expect(step).not.toHaveProperty("object.metadata.ownerReferences");
  });
});

describe("the pod of a node", () => {
  const outdated = podWith({ revision: "old" });
  const allowed = (node = nodeOf(), uid = "pod-uid") => ({ ...node, spec: { ...node.spec, replacePod: uid } });

  test("is replaced only when its parent names it, once", () => {
    const view = viewOf({ workload: WORKLOAD, pods: [outdated] });
    expect(steps(nodeOf(), view)).not.toContain("replace-pod");
    expect(steps(allowed(nodeOf(), "another"), view)).not.toContain("replace-pod");
    expect(steps(allowed(), view).at(-1)).toBe("replace-pod");
    // A server that has to be restarted has the right revision already.
    const newest = podWith({ revision: nodeOf().spec.podRevision });
    expect(steps(allowed(), { ...view, pods: [newest] }).at(-1)).toBe("replace-pod");
    expect(steps(allowed(), { ...view, pods: [podWith({ revision: "old", going: true })] })).not.toContain(
      "replace-pod",
    );
  });

  test("of a Deployment is kept by a pause, from the moment it is there until its parent lets it go", () => {
    const node = nodeOf({ podManagementType: "deployment" });
    const paused = (...args: Parameters<typeof workloadOf>) => workloadOf(...args)["spec"];
    expect(paused(node, viewOf())).not.toHaveProperty("paused");
    expect(paused(node, viewOf({ pods: [outdated] }))).toMatchObject({ paused: true });
    expect(paused(allowed(node), viewOf({ pods: [outdated] }))).not.toHaveProperty("paused");
    const suspended = nodeOf({ podManagementType: "deployment", suspended: true });
    expect(paused(suspended, viewOf({ pods: [outdated] }))).not.toHaveProperty("paused");
  });

  test("of a Deployment is deleted only for a restart: an outdated one goes by itself", () => {
    const node = allowed(nodeOf({ podManagementType: "deployment" }));
    const workload = { selector: WORKLOAD.selector, terminating: false };
    expect(steps(node, viewOf({ workload, pods: [outdated] }))).not.toContain("replace-pod");
    const newest = podWith({ revision: node.spec.podRevision });
    expect(steps(node, viewOf({ workload, pods: [newest] }))).toContain("replace-pod");
  });

  test("is labelled with the role that its agent reports", () => {
    const view = (role: "primary" | "replica" | "none", labels = {}) =>
      viewOf({ workload: WORKLOAD, pods: [podWith({ labels })], report: { role } });
    expect(steps(nodeOf(), view("primary"))).toContain("label-role");
    expect(steps(nodeOf(), view("primary", { "valkey.io/role": "primary" }))).not.toContain("label-role");
    expect(steps(nodeOf(), view("none", { "valkey.io/role": "primary" }))).not.toContain("label-role");
  });

  test("keeps the label of a primary for a moment when it has handed over", () => {
    const pods = [podWith({ labels: { "valkey.io/role": "primary" } })];
    const view = viewOf({ workload: WORKLOAD, pods, report: { role: "replica" }, roleForMs: 100 });
    expect(steps(nodeOf(), view)).not.toContain("label-role");
    expect(planNode(nodeOf(), view, now).requeueAfterMs).toBe(400);
    expect(steps(nodeOf(), { ...view, roleForMs: 500 })).toContain("label-role");
    const promoted = viewOf({ workload: WORKLOAD, pods: [podWith()], report: { role: "primary" }, roleForMs: 0 });
    expect(steps(nodeOf(), promoted)).toContain("label-role");
  });

  test.each([
    ["goes and has ended whole", { going: true, phase: "Succeeded", ended: [true, true] }, true],
    ["goes and has failed whole", { going: true, phase: "Failed", ended: [true] }, true],
    ["has a container that runs", { going: true, phase: "Failed", ended: [true, false] }, false],
    ["was only said to have failed", { going: true, phase: "Failed", ended: [] }, false],
    ["has not ended", { going: true, phase: "Running", ended: [true] }, false],
    ["was not told to go", { phase: "Succeeded", ended: [true] }, false],
  ])("that %s is dropped or not", (_, options, dropped) => {
    const view = viewOf({ workload: WORKLOAD, pods: [podWith(options)] });
    expect(steps(nodeOf(), view).includes("drop-pod")).toBe(dropped);
  });
});
