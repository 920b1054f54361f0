import { expect, test } from "bun:test";
import { BUILT_IN_DEFAULTS } from "../../api/defaults.ts";
import { FAILOVER_ANNOTATION, type FailoverRequest, failoverText } from "../../api/failover-request.ts";
import { resolveSpec } from "../../api/resolve.ts";
import type { AdmissionRequest } from "../../webhook/admission-review.ts";
import { type AccessQuestion, admitChange } from "./admission-failover.ts";

const REQUEST: FailoverRequest = { id: "maintenance-1", shard: 1, at: "2026-01-02T03:04:05Z" };
const STATUS = {
  phase: "Running",
  shards: [0, 1, 2].map((index) => ({ index, primary: `c-${index}-0`, replicas: [{ name: `c-${index}-1` }] })),
};

function cluster(
  annotation: string | undefined,
  { spec = {}, status = STATUS }: { spec?: object; status?: object } = {},
) {
  const annotations = annotation === undefined ? {} : { [FAILOVER_ANNOTATION]: annotation };
  return {
    apiVersion: "valkey.io/v1alpha1",
    kind: "ValkeyCluster",
    metadata: { name: "c", annotations },
    spec,
    status,
  };
}

async function ask(object: object, { before = cluster(undefined), may = true } = {}) {
  const asked: AccessQuestion[] = [];
  const request: AdmissionRequest = {
    uid: "1",
    kind: { group: "valkey.io", version: "v1alpha1", kind: "ValkeyCluster" },
    resource: { group: "valkey.io", version: "v1alpha1", resource: "valkeyclusters" },
    subResource: "",
    operation: "UPDATE",
    name: "c",
    namespace: "team",
    userInfo: { username: "ann", uid: "", groups: ["dev"], extra: {} },
    object,
    oldObject: before,
    options: null,
    dryRun: false,
  };
  const deps = {
    resolve: (spec: object) => resolveSpec(BUILT_IN_DEFAULTS, undefined, undefined, spec),
    may: async (question: AccessQuestion) => {
      asked.push(question);
      return may;
    },
  };
  return { decision: await admitChange(request, deps, AbortSignal.timeout(1000)), asked };
}

test("who asks needs the verb failover on the cluster", async () => {
  const { decision, asked } = await ask(cluster(failoverText(REQUEST)));
  expect(decision.allowed).toBe(true);
  expect(asked).toMatchObject([{ user: { username: "ann" }, verb: "failover", namespace: "team", name: "c" }]);
  const { decision: refused } = await ask(cluster(failoverText(REQUEST)), { may: false });
  expect(refused.allowed ? "" : refused.message).toContain("ann may not");
});

test("nobody is asked about a request that was there before, or that is taken away", async () => {
  const before = cluster(failoverText(REQUEST));
  for (const object of [before, cluster(undefined)]) {
    expect(await ask(object, { before, may: false })).toMatchObject({ decision: { allowed: true }, asked: [] });
  }
});

test("what is wrong with it is said before it is stored", async () => {
  const words = async (object: object) => {
    const { decision, asked } = await ask(object);
    expect(asked).toEqual([]);
    return decision.allowed ? "" : decision.message;
  };
  expect(await words(cluster("1"))).toContain("it has to be like");
  expect(await words(cluster(failoverText({ ...REQUEST, shard: 9 })))).toBe("there is no shard 9: there are 0, 1, 2");
  expect(await words(cluster(failoverText({ ...REQUEST, to: "c-1-0" })))).toBe("c-1-0 leads shard 1 already");
  expect(await words(cluster(failoverText({ ...REQUEST, to: "c-2-1" })))).toContain("no replica of shard 1");
  expect(await words(cluster(failoverText(REQUEST), { spec: { suspended: true } }))).toContain("suspended");
  const failover = { id: "another-one", shard: 0, phase: "Running", message: "" };
  expect(await words(cluster(failoverText(REQUEST), { status: { ...STATUS, failover } }))).toContain("under way");
});
