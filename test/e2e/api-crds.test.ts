import { afterAll, beforeAll, expect, test } from "bun:test";
import { KINDS } from "../../pkg/api/api.ts";
import { crdName } from "../../pkg/api/crd.ts";
import { installCrds, kubectl, manifest, scratchNamespace, tryKubectl } from "./api-server.ts";

let namespace = { name: "", remove: async () => {} };
beforeAll(async () => {
  await installCrds();
  namespace = await scratchNamespace("api-crds");
}, 300_000);
afterAll(async () => await namespace.remove(), 300_000);

interface Crd {
  readonly metadata: { readonly name: string };
  readonly status: { readonly conditions: readonly { readonly type: string; readonly status: string }[] };
}

test("every CRD is established, its names are accepted and nothing else is said about it", async () => {
  const crds = JSON.parse(await kubectl(["get", "crd", ...KINDS.map(crdName), "-o", "json"])) as { items: Crd[] };
  expect(crds.items).toHaveLength(KINDS.length);
  for (const { metadata, status } of crds.items) {
    const said = status.conditions.map((condition) => `${condition.type}=${condition.status}`).toSorted();
    expect([metadata.name, ...said]).toEqual([metadata.name, "Established=True", "NamesAccepted=True"]);
  }
}, 300_000);

test("short names and the category find our objects", async () => {
  await kubectl(["create", "-n", namespace.name, "-f", "-"], JSON.stringify(manifest("ValkeyCluster", "found", {})));
  await kubectl(
    ["create", "-n", namespace.name, "-f", "-"],
    JSON.stringify(manifest("ValkeyClusterAcl", "found", { secretName: "a" })),
  );
  expect(await kubectl(["get", "-n", namespace.name, "vc", "-o", "name"])).toBe("valkeycluster.valkey.io/found\n");
  const all = await kubectl(["get", "-n", namespace.name, "valkeys", "-o", "name"]);
  expect(all.trim().split("\n").toSorted()).toEqual([
    "valkeycluster.valkey.io/found",
    "valkeyclusteracl.valkey.io/found",
  ]);
  for (const { names } of KINDS) {
    for (const short of names.shortNames) await kubectl(["get", "-n", namespace.name, short]);
  }
}, 300_000);

test("kubectl explain tells what a field is for and what its default is", async () => {
  const spec = await kubectl(["explain", "valkeycluster.spec"]);
  expect(spec).toContain("Number of shards, each with one primary. Default: 3.");
  expect(await kubectl(["explain", "vc.spec.cluster.nodeTimeout"])).toContain("Default: 5s.");
}, 300_000);

test("kubectl get shows phase, shards and version", async () => {
  const header = await kubectl(["get", "-n", namespace.name, "vc", "found"]);
  expect(header.split("\n")[0]?.split(/\s+/).filter(Boolean)).toEqual([
    "NAME",
    "PHASE",
    "SHARDS",
    "READY",
    "PODS",
    "SLOTS",
    "VERSION",
    "AGE",
  ]);
}, 300_000);

test("the scale subresource sets masterCount, reads it back and keeps its bounds", async () => {
  await kubectl(
    ["create", "-n", namespace.name, "-f", "-"],
    JSON.stringify(manifest("ValkeyCluster", "scaled", { masterCount: 3 })),
  );
  const status = JSON.stringify({ status: { masterCount: 3, selector: "valkey.io/cr=scaled,valkey.io/member=0" } });
  await kubectl(["patch", "-n", namespace.name, "vc", "scaled", "--subresource=status", "--type=merge", "-p", status]);
  await kubectl(["scale", "-n", namespace.name, "vc", "scaled", "--replicas=5"]);
  const scale = JSON.parse(
    await kubectl(["get", "-n", namespace.name, "vc", "scaled", "--subresource=scale", "-o", "json"]),
  ) as object;
  expect(scale).toMatchObject({
    spec: { replicas: 5 },
    status: { replicas: 3, selector: "valkey.io/cr=scaled,valkey.io/member=0" },
  });
  const refused = await tryKubectl(["scale", "-n", namespace.name, "vc", "scaled", "--replicas=2"]);
  expect(refused.code).not.toBe(0);
  expect(refused.err).toContain("greater than or equal to 3");
}, 300_000);

test("scaling a cluster that takes masterCount from its defaults makes it explicit", async () => {
  await kubectl(["create", "-n", namespace.name, "-f", "-"], JSON.stringify(manifest("ValkeyCluster", "implicit", {})));
  await kubectl(["scale", "-n", namespace.name, "vc", "implicit", "--replicas=4"]);
  const count = ["get", "-n", namespace.name, "vc", "implicit", "-o", "jsonpath={.spec.masterCount}"];
  expect(await kubectl(count)).toBe("4");
}, 300_000);
