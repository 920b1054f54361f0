import { afterAll, beforeAll, expect, test } from "bun:test";
import { installCrds, kubectl, manifest, scratchNamespace, tryKubectl } from "./api-server.ts";
import { GOOD_NODE } from "./fixtures/wrong-specs.ts";

let namespace = { name: "", remove: async () => {} };
beforeAll(async () => {
  await installCrds();
  namespace = await scratchNamespace("api-transitions");
}, 300_000);
afterAll(async () => await namespace.remove(), 300_000);

interface Change {
  readonly what: string;
  readonly kind: string;
  readonly from: object;
  readonly to: object;
  /** What the refusal says; absent when the change is allowed. */
  readonly says?: readonly string[];
}

const pvc = { storageSize: "10Gi", storageClassName: "fast" };
const cluster = (what: string, from: object, to: object, ...says: string[]): Change => ({
  what,
  kind: "ValkeyCluster",
  from,
  to,
  ...(says.length > 0 ? { says } : {}),
});
const node = (what: string, to: object, ...says: string[]): Change => ({
  what,
  kind: "ValkeyNode",
  from: { ...GOOD_NODE, storage: { size: "1Gi" } },
  to: { ...GOOD_NODE, storage: { size: "1Gi" }, ...to },
  ...(says.length > 0 ? { says } : {}),
});
const bundle = { caRef: "root", purpose: "mtls", certSecretRef: "c", keySecretRef: "k" };

const CHANGES: readonly Change[] = [
  cluster("a volume that grows is allowed", { pvc }, { pvc: { ...pvc, storageSize: "11Gi" } }),
  cluster("the same size in another unit is allowed", { pvc }, { pvc: { ...pvc, storageSize: "10240Mi" } }),
  cluster(
    "a volume that shrinks",
    { pvc },
    { pvc: { ...pvc, storageSize: "9Gi" } },
    "spec.pvc.storageSize",
    "may only grow",
    "keep 10Gi or give more",
  ),
  cluster(
    "another class",
    { pvc },
    { pvc: { ...pvc, storageClassName: "slow" } },
    "spec.pvc.storageClassName",
    "immutable",
  ),
  cluster(
    "no class any more",
    { pvc },
    { pvc: { storageSize: "10Gi" } },
    "spec.pvc.storageClassName",
    "put the old value back",
  ),
  cluster("no volume any more", { pvc }, {}, "spec.pvc", "the volumes hold the data"),
  cluster("a volume stated that a default has made is allowed", {}, { pvc }),
  cluster(
    "another workload",
    { podManagementType: "statefulset" },
    { podManagementType: "deployment" },
    "spec.podManagementType",
    "immutable",
  ),
  cluster(
    "another image and more shards are allowed",
    { masterCount: 3 },
    { masterCount: 5, valkeyImage: { tag: "9.1" } },
  ),
  {
    what: "other users",
    kind: "ValkeyClusterAcl",
    from: { secretName: "a" },
    to: { secretName: "b" },
    says: ["spec.secretName", "immutable", "content of the Secret"],
  },
  {
    what: "another root",
    kind: "ValkeyCA",
    from: { caCertSecretRef: "a" },
    to: { caCertSecretRef: "b" },
    says: ["spec.caCertSecretRef", "make another ValkeyCA"],
  },
  {
    what: "another purpose",
    kind: "ValkeyCertificateBundle",
    from: bundle,
    to: { ...bundle, purpose: "tls" },
    says: ["spec.purpose", "immutable"],
  },
  {
    what: "another deployment",
    kind: "ValkeyCertificateBinding",
    from: { clusterRef: "a" },
    to: { clusterRef: "b" },
    says: ["spec.clusterRef", "immutable"],
  },
  node("another shard", { shard: 1 }, "spec.shard", "immutable"),
  node("another parent", { parent: { kind: "ValkeyCluster", name: "y" } }, "spec.parent", "immutable"),
  node("no storage any more", { storage: undefined }, "spec.storage", "immutable"),
  node("less storage", { storage: { size: "1Mi" } }, "spec.storage.size", "may only grow"),
  node("another pod is allowed", { podRevision: "2", replacePod: "uid", podTemplate: { spec: { containers: [{}] } } }),
];

for (const [index, { what, kind, from, to, says }] of CHANGES.entries()) {
  test(`${kind}: ${what}${says === undefined ? "" : " is refused"}`, async () => {
    const change = (spec: object) => JSON.stringify(manifest(kind, `change-${index}`, spec));
    await kubectl(["create", "-n", namespace.name, "-f", "-"], change(from));
    const { code, out, err } = await tryKubectl(["replace", "-n", namespace.name, "-f", "-"], change(to));
    expect(`${code === 0 ? "allowed" : "refused"}${says === undefined ? err : out}`).toBe(
      says === undefined ? "allowed" : "refused",
    );
    for (const fragment of says ?? []) expect(err).toContain(fragment);
  }, 300_000);
}

test("defaults may be changed in any way", async () => {
  const defaults = (spec: object) =>
    JSON.stringify(manifest("ValkeyClusterDefaults", "valkey-operator-defaults", spec));
  await kubectl(["create", "-n", namespace.name, "-f", "-"], defaults({ pvc, podManagementType: "statefulset" }));
  const changed = { pvc: { storageSize: "1Gi", storageClassName: "slow" }, podManagementType: "deployment" };
  await kubectl(["replace", "-n", namespace.name, "-f", "-"], defaults(changed));
  await kubectl(["replace", "-n", namespace.name, "-f", "-"], defaults({}));
}, 300_000);
