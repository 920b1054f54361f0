import { describe, expect, test } from "bun:test";
import type { ValkeyNodeStatus } from "../../api/node.ts";
import { nodeOf, podWith, viewOf, WORKLOAD } from "./fixtures.ts";
import { DRIFT_SHOWN_MS, type StatusInput, statusOf } from "./status.ts";
import type { NodeView } from "./view.ts";

const now = new Date("2026-01-02T03:04:05Z");

function status(view: Partial<NodeView>, more: Partial<StatusInput> = {}): ValkeyNodeStatus {
  return statusOf({ node: nodeOf(), view: viewOf(view), now, ...more });
}

describe("the phase", () => {
  test.each<[string, ValkeyNodeStatus, Pick<ValkeyNodeStatus, "phase" | "message">]>([
    ["ready", status({ pods: [podWith()] }), { phase: "Running" }],
    [
      "not ready",
      status({ pods: [podWith({ ready: false })] }),
      { phase: "Running", message: "its pod is not ready yet" },
    ],
    ["ending", status({ pods: [podWith({ going: true })] }), { phase: "Terminating", message: "its pod is ending" }],
    [
      "failed",
      status({ pods: [podWith({ phase: "Failed", ready: false })] }),
      { phase: "Failed", message: "its pod failed" },
    ],
    [
      "unscheduled",
      status({ pods: [podWith({ phase: "Pending", ready: false, unscheduled: "0/3 nodes fit" })] }),
      { phase: "Pending", message: "its pod is not running yet: 0/3 nodes fit" },
    ],
    ["suspended", status({}, { node: nodeOf({ suspended: true }) }), { phase: "Suspended" }],
    ["without a pod", status({ workload: WORKLOAD }), { phase: "Pending", message: "its pod has not been made yet" }],
    [
      "waiting",
      status({ missing: ["Secret x"] }),
      { phase: "Pending", message: "its pod is made when these are there: Secret x" },
    ],
    [
      "obstructed",
      status({ pods: [podWith()] }, { failure: "Service x is in the way" }),
      { phase: "Failed", message: "Service x is in the way" },
    ],
  ])("%s", (_name, told, { phase, message }) => {
    expect([told.phase, told.message]).toEqual([phase, message]);
  });
});

describe("what is shown", () => {
  test("the pod that stays, not the one that goes", () => {
    const told = status({ pods: [podWith({ uid: "going", going: true }), podWith({ uid: "new" })], zone: "a" });
    expect(told.pod).toMatchObject({ uid: "new", ip: "10.0.0.1", node: "node-1", zone: "a" });
    expect(told.ready).toBe(true);
  });

  test("what the agent said, and what it said before while it is silent about the same pod", () => {
    const report = { nodeId: "abc", role: "primary", version: "9.1.2" } as const;
    const told = status({ pods: [podWith()], report });
    expect(told).toMatchObject(report);
    const node = nodeOf({}, told);
    expect(status({ pods: [podWith()] }, { node })).toMatchObject(report);
    expect(status({ pods: [podWith({ uid: "another" })] }, { node }).role).toBe("none");
    expect(status({ pods: [] }, { node }).role).toBe("none");
  });
});

describe("a drift", () => {
  const drift = { at: now, what: "StatefulSet shop-0-0 had spec.replicas changed" };
  const later = (ms: number) => new Date(now.getTime() + ms);

  test("is shown for a while, then not any more", () => {
    const first = status({ drift });
    expect(first.conditions).toMatchObject([
      { type: "Drifted", status: "True", lastTransitionTime: now.toISOString() },
    ]);
    expect(first.conditions?.[0]?.message).toContain("spec.replicas");
    const node = nodeOf({}, first);
    expect(status({ drift }, { node, now: later(1000) }).conditions).toEqual(first.conditions);
    const over = status({ drift }, { node, now: later(DRIFT_SHOWN_MS) });
    expect(over.conditions).toMatchObject([{ type: "Drifted", status: "False" }]);
    expect(status({ drift }, { node: nodeOf({}, over), now: later(2 * DRIFT_SHOWN_MS) }).conditions).toEqual(
      over.conditions,
    );
  });

  test("is known to the next leader from the condition", () => {
    const node = nodeOf({}, status({ drift }));
    expect(status({}, { node, now: later(1000) }).conditions).toEqual(node.status?.conditions);
    expect(status({}, { node, now: later(DRIFT_SHOWN_MS) }).conditions?.[0]?.status).toBe("False");
  });

  test("is not spoken of when there was none", () => {
    expect(status({})).not.toHaveProperty("conditions");
  });
});
