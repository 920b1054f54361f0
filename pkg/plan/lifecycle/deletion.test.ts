import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { type DeletionView, FINALIZER, PROTECTION_ANNOTATION, planDeletion } from "./deletion.ts";

const BEGAN = Date.parse("2026-11-16T12:00:00Z");
const after = (seconds: number) => new Date(BEGAN + seconds * 1000);
const NAMES = ["c-0-0", "c-0-1"] as const;

function view(rest: Partial<DeletionView> = {}, cluster: Partial<DeletionView["cluster"]> = {}): DeletionView {
  return {
    cluster: {
      name: "c",
      namespace: "team",
      uid: "owner",
      deletionTimestamp: new Date(BEGAN).toISOString(),
      finalizers: [FINALIZER],
      annotations: {},
      ...cluster,
    },
    nodes: NAMES.map((name) => ({ name, ownerUid: "owner", going: false })),
    servers: NAMES.map((node, n) => ({
      node,
      shard: 0,
      primary: n === 0,
      podUid: node,
      podGoing: false,
      stopped: false,
      serverRuns: true,
      silentSince: undefined,
    })),
    pods: NAMES.map((node) => ({ name: `${node}-0`, node })),
    claims: NAMES.map((node) => ({ name: `${node}-data`, node, going: false })),
    whenDeleted: "Retain",
    ...rest,
  };
}

const doing = (of: DeletionView, seconds = 1) => planDeletion(of, after(seconds)).steps.map((step) => step.do);
const bare = { nodes: [], servers: [], pods: [] } as const;

test("servers save and stop first, then nodes go; who does not answer in time is not waited for", () => {
  expect(planDeletion(view(), after(1)).steps).toEqual([
    { do: "stop-server", node: "c-0-0", save: true, lane: "c-0-0" },
  ]);
  const stopped = view({ servers: view().servers.map((server) => ({ ...server, stopped: true })) });
  expect(doing(stopped)).toEqual(["delete-node", "delete-node"]);
  expect(doing(view(), 21)).toEqual(["delete-node", "delete-node"]);
});

test("pods are waited for, but not for ever", () => {
  const going = view({ nodes: view().nodes.map((node) => ({ ...node, going: true })) });
  expect(planDeletion(going, after(30))).toMatchObject({ steps: [], holds: [{ name: "pods-going" }] });
  expect(doing(going, 301)).toEqual(["tell", "remove-finalizer"]);
});

test("volumes are kept and named, or deleted when the pods are gone", () => {
  const [tell, last] = planDeletion(view(bare), after(30)).steps;
  expect(last).toEqual({ do: "remove-finalizer" });
  expect(tell).toMatchObject({ do: "tell", reason: "VolumesKept" });
  expect(tell).toHaveProperty(
    "note",
    expect.stringContaining("kept 2 volumes with their data: c-0-0-data, c-0-1-data;"),
  );
  const away = view({ ...bare, whenDeleted: "Delete" });
  expect(doing(away)).toEqual(["delete-claim", "delete-claim"]);
  const going = { ...away, claims: away.claims.map((claim) => ({ ...claim, going: true })) };
  expect(planDeletion(going, after(30)).holds).toMatchObject([{ name: "claims-going" }]);
  expect(doing({ ...going, claims: [] })).toEqual(["remove-finalizer"]);
});

test("what is to be orphaned is left running with its volumes", () => {
  const expected: ReturnType<typeof doing> = ["tell", "remove-finalizer"];
  const asked = view({ whenDeleted: "Delete" }, { finalizers: ["orphan", FINALIZER] });
  expect(doing(asked)).toEqual(expected);
  const done = view({ whenDeleted: "Delete", nodes: view().nodes.map((node) => ({ ...node, ownerUid: undefined })) });
  expect(doing(done)).toEqual(expected);
});

test("a protected cluster runs on, unless others take it apart already", () => {
  const annotations = { [PROTECTION_ANNOTATION]: "true" };
  const plan = planDeletion(view({}, { annotations }), after(400));
  expect(plan.protected).toBe(true);
  expect(plan.holds[0]?.reason).toContain("kubectl annotate valkeycluster c -n team valkey.io/deletion-protection-");
  const [first, second] = view().nodes;
  if (first === undefined || second === undefined) throw new Error("two nodes");
  const going = view({ nodes: [{ ...first, going: true }, second] }, { annotations });
  expect(planDeletion(going, after(1)).protected).toBe(false);
  expect(planDeletion(view(bare, { annotations }), after(1)).protected).toBe(false);
});

test("the volumes of a protected cluster that others took apart are kept, whatever whenDeleted says", () => {
  const annotations = { [PROTECTION_ANNOTATION]: "true" };
  const taken = view({ ...bare, whenDeleted: "Delete" }, { annotations });
  expect(planDeletion(taken, after(30)).steps).toMatchObject([
    { do: "tell", reason: "VolumesKept" },
    { do: "remove-finalizer" },
  ]);
});

test("whatever is gone already and whoever deletes beside us, it ends, and no volume goes before its pod", () => {
  const some = <T>(of: readonly T[]) => fc.subarray([...of]);
  const full = view();
  const begun = fc.record({
    nodes: some(full.nodes),
    servers: some(full.servers),
    pods: some(full.pods),
    claims: some(full.claims),
    whenDeleted: fc.constantFrom("Retain" as const, "Delete" as const),
  });
  fc.assert(
    fc.property(begun, fc.boolean(), (start, stuckPod) => {
      let now = view(start);
      for (let seconds = 1; seconds < 700; seconds += 5) {
        const { steps } = planDeletion(now, after(seconds));
        if (steps.some((step) => step.do === "delete-claim") && seconds < 300) expect(now.pods).toEqual([]);
        if (steps.some((step) => step.do === "remove-finalizer")) {
          expect(now.nodes).toEqual([]);
          if (now.whenDeleted === "Retain") expect(now.claims).toEqual(start.claims);
          return;
        }
        const gone = new Set(
          steps.flatMap((step) => (step.do === "delete-node" || step.do === "delete-claim" ? [step.name] : [])),
        );
        const nodes = now.nodes.filter(({ name }) => !gone.has(name));
        const kept = new Set(nodes.map(({ name }) => name));
        now = {
          ...now,
          nodes,
          pods: stuckPod ? now.pods : now.pods.filter(({ node }) => kept.has(node)),
          claims: now.claims.filter(({ name }) => !gone.has(name)),
        };
      }
      throw new Error("it did not end");
    }),
  );
});
