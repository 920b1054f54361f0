import { expect, test } from "bun:test";
import type { RolloutPlan } from "../rollout/rollout.ts";
import { planCluster } from "./plan.ts";
import { spareSteps } from "./spare-steps.ts";
import { clusterView, NOW } from "./test-view.ts";

const SURGE = { update: { strategy: "Surge" }, pvc: { storageSize: "1Gi" } } as const;
const view = clusterView({ spec: SURGE });
const rollout = (changes: Partial<RolloutPlan>): RolloutPlan => {
  const { rollout: plan } = planCluster(view, NOW);
  if (plan === undefined) throw new Error("a cluster that runs has one");
  return { ...plan, ...changes };
};
const claim = (node: string, going = false) => ({ name: `${node}-data`, node, going });

test("a spare is a node like the others, with a number of its own", () => {
  const [step, ...others] = spareSteps(view, rollout({ addSpares: new Set([1]) }));
  expect(others).toEqual([]);
  if (step?.do !== "apply") throw new Error("it is applied");
  expect(step.object.metadata.name).toBe("shop-1-999");
  const [regular] = view.desired.nodes;
  expect(step.object["spec"]).toMatchObject({ shard: 1, member: 999, storage: regular?.spec.storage });
});

test("it goes by its name, and its volume when node and pod are gone", () => {
  const [first] = view.nodes;
  if (first === undefined) throw new Error("a cluster has nodes");
  const spare = { ...first, name: "shop-1-999", shard: 1, member: 999 };
  const there = { ...view, nodes: [...view.nodes, spare], claims: [claim("shop-1-999")] };
  const retire = rollout({ retire: new Set(["shop-1-999"]) });
  expect(spareSteps(there, retire)).toEqual([{ do: "delete-node", name: "shop-1-999", lane: "shop-1-999" }]);
  const podLeft = { ...view, claims: there.claims, pods: [{ name: "shop-1-999-0", node: "shop-1-999" }] };
  expect(spareSteps(podLeft, rollout({}))).toEqual([]);
  const gone = {
    ...view,
    claims: [claim("shop-0-0"), claim("shop-0-2"), claim("shop-1-999"), claim("shop-2-999", true)],
  };
  expect(spareSteps(gone, rollout({}))).toEqual([
    { do: "delete-claim", name: "shop-1-999-data", lane: "shop-1-999-data" },
  ]);
});

test("none is thought of with the other strategy", () => {
  expect(clusterView().desired.spares).toEqual([]);
});
