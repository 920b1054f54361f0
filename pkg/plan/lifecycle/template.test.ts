import { expect, test } from "bun:test";
import { podOf, STATUS } from "../trouble/test-facts.ts";
import { type NodeNow, nodeSpecNow, podState } from "./template.ts";
import { templateChanges } from "./template-changes.ts";
import { nodeSpec } from "./test-spec.ts";

const image = (tag: string, more: object = {}) => ({
  podRevision: tag,
  podTemplate: { spec: { containers: [{ name: "valkey", image: `valkey:${tag}`, ...more }] } },
});
const old = nodeSpec(0, 0, image("one"));
const wanted = nodeSpec(0, 0, { ...image("two", { resources: { limits: { cpu: "1" } } }), configHash: "new" });
const RUNS: NodeNow = { existing: old, podUid: "u", podRevision: "one", mayReplace: false, restart: false };

test("a pod that may not be replaced stays, also as what comes after it; the rest of the node is applied", () => {
  expect(nodeSpecNow(wanted, RUNS)).toEqual({ ...old, configHash: "new" });
  expect(templateChanges(old.podTemplate, wanted.podTemplate)).toEqual([
    "image of valkey (valkey:one to valkey:two)",
    "resources of valkey",
  ]);
});

test("one that may be is named, until its successor is there", () => {
  const now = { ...RUNS, mayReplace: true };
  expect(nodeSpecNow(wanted, now)).toEqual({ ...wanted, replacePod: "u" });
  // The same after the node was written and before the pod was replaced.
  const written = { ...now, existing: { ...wanted, replacePod: "u" } };
  expect(nodeSpecNow(wanted, written).replacePod).toBe("u");
  expect(nodeSpecNow(wanted, { ...written, podUid: "v", podRevision: "two" })).toBe(wanted);
});

test("the word is taken back while the pod has not begun to go, and kept once it has", () => {
  const written = { ...RUNS, existing: { ...wanted, replacePod: "u" } };
  expect(nodeSpecNow(wanted, written).replacePod).toBeUndefined();
  expect(nodeSpecNow(wanted, { ...written, podGoing: true }).replacePod).toBe("u");
});

test("a spec that goes back finds the pod as it was, whatever its node was told meanwhile", () => {
  expect(nodeSpecNow(old, { ...RUNS, existing: { ...wanted, replacePod: "u" } })).toBe(old);
});

test("a server that has to be restarted keeps its revision", () => {
  const now = { ...RUNS, existing: wanted, podRevision: "two", restart: true };
  expect(nodeSpecNow(wanted, now)).toBe(wanted);
  expect(nodeSpecNow(wanted, { ...now, mayReplace: true })).toEqual({ ...wanted, replacePod: "u" });
});

test("without a pod there is nothing to name", () => {
  const none = { existing: old, mayReplace: true, restart: false };
  expect(nodeSpecNow(wanted, none)).toBe(wanted);
  expect(nodeSpecNow(wanted, { ...none, existing: undefined })).toBe(wanted);
});

test("the state of a pod is read from its server's container", () => {
  const stateOf = (status: object) => podState(podOf("p", { status }));
  expect(podState(undefined)).toBe("none");
  expect(stateOf(STATUS.noCpu)).toBe("unstarted");
  expect(stateOf(STATUS.badImage)).toBe("unstarted");
  expect(stateOf(STATUS.noSuchProgram)).toBe("unstarted");
  expect(stateOf(STATUS.agentStarting)).toBe("unstarted");
  expect(stateOf(STATUS.crashed)).toBe("unable");
  expect(stateOf(STATUS.crashLoop)).toBe("unable");
  expect(stateOf(STATUS.healthy)).toBe("running");
  expect(stateOf(STATUS.agentCrashed)).toBe("running");
});
