import { expect, test } from "bun:test";
import { planCluster } from "./plan.ts";
import { reportCluster } from "./status.ts";
import { clusterView, NOW, type ViewOptions } from "./test-view.ts";
import type { ClusterView, NodeNow } from "./view.ts";

/** Made with other labels than the spec asks for. */
function outdated(node: NodeNow): NodeNow {
  if (node.node === undefined || node.pod === undefined) return node;
  const { podTemplate } = node.node.spec;
  const spec = { ...node.node.spec, podRevision: "old", podTemplate: { ...podTemplate, labels: { team: "old" } } };
  return { ...node, node: { ...node.node, spec }, pod: { ...node.pod, revision: "old" } };
}

const asked = (options: ViewOptions = {}) => ({
  ...clusterView({ change: outdated, ...options }),
  isSettled: () => false,
});

function nodesOf(view: ClusterView) {
  const { steps } = planCluster(view, NOW);
  const objects = steps.flatMap((step) => (step.do === "apply" ? [step.object] : []));
  const names = new Set(objects.filter(({ kind }) => kind === "ValkeyNode").map(({ metadata }) => metadata.name));
  const specs = objects.flatMap(({ metadata, ["spec"]: spec }) =>
    names.has(metadata.name) ? [{ name: metadata.name, spec }] : [],
  );
  return specs;
}

const statusOf = (view: ClusterView) =>
  reportCluster({ view, plan: planCluster(view, NOW), failures: [], now: NOW }).status;
const condition = (view: ClusterView, type: string) => {
  const found = statusOf(view).conditions?.find((one) => one.type === type);
  return `${found?.status} ${found?.reason}`;
};

test("one node is let go, the others keep the pods they have, also as what would come after them", () => {
  const specs = nodesOf(asked());
  const letGo = specs.filter(({ spec }) => JSON.stringify(spec).includes('"replacePod":"pod-'));
  expect(letGo).toMatchObject([{ name: "shop-0-1", spec: { replacePod: "pod-shop-0-1" } }]);
  const kept = specs.filter(({ spec }) => JSON.stringify(spec).includes('"podRevision":"old"'));
  expect(kept.map(({ name }) => name)).toEqual(["shop-0-0", "shop-1-0", "shop-1-1", "shop-2-0", "shop-2-1"]);
});

test("the status counts, names the next and the reason, and the cluster stays Ready", () => {
  const view = asked();
  expect(statusOf(view)).toMatchObject({
    phase: "Updating",
    reason: "RollingChange",
    rollout: { pods: 6, updated: 0, next: "shop-0-1", changes: "labels" },
  });
  expect(condition(view, "Ready")).toBe("True RollingChange");
  expect(condition(view, "Degraded")).toBe("False AsWanted");
  expect(condition(view, "Progressing")).toBe("True RollingChange");
});

test("a pod that is away for it is not missed; the last one neither", () => {
  const away = (node: NodeNow): NodeNow => (node.name === "shop-0-1" ? { ...node, pod: undefined } : outdated(node));
  const status = { conditions: [], rollout: { pods: 6, updated: 5 } };
  expect(condition(asked({ change: away, status }), "Degraded")).toBe("False AsWanted");
  const last = (node: NodeNow): NodeNow => (node.name === "shop-0-1" ? { ...node, pod: undefined } : node);
  expect(statusOf(asked({ change: last, status })).rollout).toMatchObject({ pods: 6, updated: 6 });
});

test("a cluster whose change waits is Running, and says what it waits for", () => {
  const view = asked({ spec: { update: { window: "0 4 * * *" } } });
  const { phase, message, holds } = statusOf(view);
  expect(phase).toBe("Running");
  expect(message).toContain("window-open");
  expect(holds).toMatchObject([{ predicate: "window-open" }]);
  expect(condition(view, "Progressing")).not.toContain("RollingChange");
});

test("a setting that needs a restart restarts, once for each change of the settings", () => {
  const restart =
    (made: string) =>
    (node: NodeNow): NodeNow => {
      const facts = { needsRestart: ["databases"], refusals: [], troubles: [] };
      const metadata = { ...node.pod?.metadata, name: node.name, creationTimestamp: made };
      const pod = node.pod === undefined ? undefined : { ...node.pod, metadata };
      const { contact } = node.agent;
      const hash = clusterView().desired.configuration?.hash ?? "";
      if (contact.known !== "answer") return node;
      const state = { ...contact.state, applied: { ...contact.state.applied, configurationHash: hash } };
      return { ...node, pod, agent: { ...node.agent, facts, contact: { ...contact, state } } };
    };
  const before = asked({ change: restart("2026-01-01T00:00:00Z") });
  expect(statusOf(before).rollout).toMatchObject({ next: "shop-0-1", changes: "setting databases" });
  expect(planCluster(before, NOW).rollout?.replace).toEqual(new Set(["shop-0-1"]));
  const after = asked({ change: restart("2026-04-01T00:00:00Z") });
  expect(planCluster(after, NOW).rollout?.progress).toBeUndefined();
});

test("a volume whose file system only grows with a mount costs its pod a replacement, once", () => {
  const grown =
    (made: string, since: string) =>
    (node: NodeNow): NodeNow => {
      const condition = { type: "FileSystemResizePending", status: "True", lastTransitionTime: since };
      const claim = {
        metadata: { name: `${node.name}-data` },
        spec: { resources: { requests: { storage: "2Gi" } } },
        status: { phase: "Bound", capacity: { storage: "1Gi" }, conditions: [condition] },
      };
      const pod = node.pod && {
        ...node.pod,
        metadata: { ...node.pod.metadata, name: node.name, creationTimestamp: made },
      };
      return { ...node, pod, claim };
    };
  const rolloutOf = (made: string, since: string) => {
    const view = { ...clusterView({ change: grown(made, since) }), isSettled: () => false };
    const { steps } = planCluster(view, NOW);
    const objects = steps.flatMap((step) => (step.do === "apply" ? [step.object] : []));
    const replace = objects
      .filter((object) => JSON.stringify(object).includes("replacePod"))
      .map(({ metadata }) => metadata.name);
    return { ...statusOf(view).rollout, replace };
  };
  // A minute is kubelet's, which makes it grow in use where the driver can.
  expect(rolloutOf("2026-05-01T11:00:00Z", "2026-05-01T11:59:30Z").replace).toEqual([]);
  const waited = rolloutOf("2026-05-01T11:00:00Z", "2026-05-01T11:58:00Z");
  expect(waited).toMatchObject({ replace: ["shop-0-1"], changes: "volumes that have grown" });
  expect(rolloutOf("2026-05-01T11:58:30Z", "2026-05-01T11:58:00Z").replace).toEqual([]);
});

test("no primary hands over while its successor is being introduced to a primary: a vote could be lost", () => {
  const replicas = (node: NodeNow): NodeNow => (node.member === 0 ? outdated(node) : node);
  const handovers = (change: (node: NodeNow) => NodeNow) =>
    planCluster(asked({ change }), NOW).steps.flatMap((step) => (step.do === "handover" ? [step.node] : []));
  const met = (host: string, guest: string, msAgo: number) => (node: NodeNow) => {
    const { agent, ...rest } = replicas(node);
    return { ...rest, agent: node.name === host ? { ...agent, met: [{ node: guest, msAgo }] } : agent };
  };
  expect(handovers(replicas)).toEqual(["shop-0-0"]);
  expect(handovers(met("shop-2-0", "shop-0-1", 5000))).toEqual(["shop-0-0"]);
  expect(handovers(met("shop-2-0", "shop-0-1", 100))).toEqual(["shop-1-0"]);
  expect(handovers(met("shop-0-1", "shop-1-0", 100))).toEqual(["shop-1-0"]);
  // Whose connections to primaries stay.
  expect(handovers(met("shop-0-1", "shop-1-1", 100))).toEqual(["shop-0-0"]);
  expect(handovers(met("shop-2-1", "shop-1-0", 100))).toEqual(["shop-0-0"]);
});
