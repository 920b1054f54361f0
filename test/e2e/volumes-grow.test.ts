/** Volumes grow while their servers go on; what cannot be done is said with the way out, and nothing is touched. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { until } from "../lib/until.ts";
import { kubectl } from "./cluster.ts";
import { applyCluster, clusterReady, clusterWhere, podsOf } from "./clusters.ts";
import { installOperator } from "./install.ts";
import { eventOf } from "./operator.ts";
import { changeSpec, heldBy, isDone, uidsOf } from "./rolling.ts";

const namespace = `volumes-${crypto.randomUUID().slice(0, 6)}`;
const inNamespace = ["-n", namespace];
const ref = { namespace, name: "shop" };
const RIGID = `rigid-${namespace}`;

beforeAll(async () => {
  await installOperator();
  await kubectl(["create", "namespace", namespace]);
  const rigid = {
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    metadata: { name: RIGID },
    provisioner: "kubernetes.io/host-path",
  };
  await kubectl(["apply", "-f", "-"], JSON.stringify(rigid));
}, 300_000);

afterAll(async () => {
  await kubectl(["delete", "namespace", namespace, "--ignore-not-found", "--wait=false"]);
  await kubectl(["delete", "storageclass", RIGID, "--ignore-not-found"]);
}, 300_000);

async function requested(): Promise<readonly string[]> {
  const sizes = "jsonpath={.items[*].spec.resources.requests.storage}";
  return (await kubectl(["get", "pvc", ...inNamespace, "-l", `valkey.io/cr=${ref.name}`, "-o", sizes])).split(" ");
}

/** As the storage does, whose resizer does not run here. */
async function grow(claim: string, storage: string): Promise<void> {
  const patch = JSON.stringify({ status: { capacity: { storage } } });
  await kubectl(["patch", "pvc", claim, ...inNamespace, "--subresource=status", "--type=merge", "-p", patch]);
}

test("every claim is asked to grow, no pod is touched, and the status follows", async () => {
  await applyCluster(ref, { pvc: { storageSize: "64Mi" } });
  await clusterReady(ref, { timeoutMs: 180_000 });
  const before = await uidsOf(ref);
  await changeSpec(ref, { pvc: { storageSize: "96Mi" } });
  await until("all claims ask for 96Mi", async () => (await requested()).every((size) => size === "96Mi"));
  const growing = await clusterWhere(ref, "says that volumes grow", ({ status }) =>
    (status?.troubles ?? []).some(({ reason, nodes }) => reason === "VolumeGrows" && nodes === 6),
  );
  const trouble = growing.status?.troubles?.find(({ reason }) => reason === "VolumeGrows");
  expect(trouble).toMatchObject({ severity: "notice" });
  expect(trouble?.message).toContain("volumes have 64Mi of 96Mi");
  expect(growing.status?.conditions?.find(({ type }) => type === "Ready")?.status).toBe("True");
  for (const { metadata } of await podsOf(ref)) await grow(`${metadata.name.replace(/-0$/u, "")}-data`, "96Mi");
  await clusterWhere(ref, "has grown", ({ status }) => (status?.troubles ?? []).length === 0);
  const capacity = ["get", "valkeynode", `${ref.name}-0-0`, ...inNamespace, "-o", "jsonpath={.status.volume.capacity}"];
  await until("its node says so", async () => (await kubectl(capacity)) === "96Mi");
  expect(await uidsOf(ref)).toEqual(before);
}, 600_000);

test("a volume does not shrink", async () => {
  const shrunk = changeSpec(ref, { pvc: { storageSize: "64Mi" } });
  expect(await shrunk.catch(String)).toContain("may only grow: volumes cannot shrink; keep 96Mi or give more");
  expect(new Set(await requested())).toEqual(new Set(["96Mi"]));
}, 300_000);

test("a class that does not let volumes grow is named, and allowing it there is enough", async () => {
  const rigid = { namespace, name: "rigid" };
  const pvc = { storageSize: "64Mi", storageClassName: RIGID };
  await applyCluster(rigid, { replicasPerMaster: 0, pvc });
  await clusterReady(rigid, { timeoutMs: 180_000 });
  await changeSpec(rigid, { pvc: { ...pvc, storageSize: "96Mi" } });
  await heldBy(rigid, "volumes-can-grow", `StorageClass ${RIGID} does not let volumes grow`);
  await kubectl(["patch", "storageclass", RIGID, "--type=merge", "-p", '{"allowVolumeExpansion":true}']);
  await clusterWhere(rigid, "grows", ({ status }) =>
    (status?.troubles ?? []).some(({ reason }) => reason === "VolumeGrows"),
  );
}, 600_000);

test("a file system that grows only with a mount gets one: pods are replaced one after the other", async () => {
  const rigid = { namespace, name: "rigid" };
  const before = await podsOf(rigid);
  const claimOf = (pod: string) => `${pod.replace(/-0$/u, "")}-data`;
  const says = async (pod: string, status: object) => {
    const patch = ["--subresource=status", "--type=merge", "-p", JSON.stringify({ status })];
    await kubectl(["patch", "pvc", claimOf(pod), ...inNamespace, ...patch]);
  };
  // As storage that cannot do it in use.
  const made = Math.max(...before.map(({ metadata }) => Date.parse(metadata.creationTimestamp ?? "")));
  const lastTransitionTime = new Date(made + 1000).toISOString().replace(/\.\d+/u, "");
  const pending = { type: "FileSystemResizePending", status: "True", lastTransitionTime };
  for (const { metadata } of before) await says(metadata.name, { conditions: [pending] });
  const waiting = new Map(before.map(({ metadata }) => [metadata.name, metadata.uid]));
  await until(
    "every pod is another",
    async () => {
      for (const { metadata } of await podsOf(rigid)) {
        if (!waiting.has(metadata.name) || waiting.get(metadata.name) === metadata.uid) continue;
        await says(metadata.name, { capacity: { storage: "96Mi" }, conditions: [] });
        waiting.delete(metadata.name);
      }
      return waiting.size === 0;
    },
    { timeoutMs: 240_000, everyMs: 200 },
  );
  expect((await eventOf(namespace, rigid.name, "RollingChange")).note).toContain("volumes that have grown");
  const replaced = await uidsOf(rigid);
  await clusterWhere(
    rigid,
    "is as wanted",
    (cluster) => isDone(cluster) && (cluster.status?.troubles ?? []).length === 0,
  );
  expect(await uidsOf(rigid)).toEqual(replaced);
}, 600_000);
