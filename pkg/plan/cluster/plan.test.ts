import { expect, test } from "bun:test";
import { planCluster } from "./plan.ts";
import { clusterView, NOW } from "./test-view.ts";
import type { NodeNow } from "./view.ts";

const kinds = (steps: readonly { readonly do: string }[]) => [...new Set(steps.map((step) => step.do))];

test("a whole cluster is left alone, and its agents are not asked often", () => {
  const { steps, holds, closely } = planCluster(clusterView(), NOW);
  expect({
    steps: kinds(steps).filter((step) => step !== "configure"),
    holds,
    closely: closely && steps.length === 0,
  }).toEqual({
    steps: [],
    holds: [],
    closely: false,
  });
});

test("what the API server does not show as wanted is applied, nodes included", () => {
  const view = { ...clusterView(), isSettled: () => false };
  const applied = planCluster(view, NOW).steps.flatMap((step) => (step.do === "apply" ? [step.object.kind] : []));
  expect(new Set(applied)).toContain("ValkeyNode");
  expect(applied.filter((kind) => kind === "ValkeyNode")).toHaveLength(6);
  expect(applied).toContain("ConfigMap");
});

test("a cluster gets its finalizer before anything else is owed to it", () => {
  const { steps } = planCluster(clusterView({ metadata: { finalizers: [] } }), NOW);
  expect(kinds(steps)).toContain("add-finalizer");
});

test("a suspended one stops its primaries first and forms nothing", () => {
  const { steps, stage } = planCluster(clusterView({ spec: { suspended: true } }), NOW);
  expect(stage).toBe("suspend");
  const stopped = steps.flatMap((step) => (step.do === "stop-server" ? [step.node] : []));
  expect(stopped).toEqual(["shop-0-0", "shop-1-0", "shop-2-0"]);
});

test("a node is scaled to no pod only when its server has ended", () => {
  const ended = (node: NodeNow): NodeNow => {
    const { contact } = node.agent;
    if (node.name !== "shop-0-1" || contact.known !== "answer") return node;
    const state = { ...contact.state, phase: "stopped" as const, cluster: undefined };
    return { ...node, agent: { ...node.agent, contact: { ...contact, state } } };
  };
  const running = (node: NodeNow): NodeNow =>
    node.node === undefined ? node : { ...node, node: { ...node.node, spec: { ...node.node.spec, suspended: false } } };
  const view = clusterView({ spec: { suspended: true }, change: (node) => running(ended(node)) });
  const { steps } = planCluster({ ...view, isSettled: () => false }, NOW);
  const down = steps.flatMap((step) =>
    step.do === "apply" && step.object.kind === "ValkeyNode" && JSON.stringify(step.object).includes('"suspended":true')
      ? [step.object.metadata.name]
      : [],
  );
  expect(down).toEqual(["shop-0-1"]);
});

test("one that was made unbound is left alone", () => {
  const view = { ...clusterView({ spec: { unbound: true } }), running: undefined };
  expect(planCluster(view, NOW)).toMatchObject({ stage: "leave", steps: [], holds: [] });
});
