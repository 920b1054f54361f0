/** A running cluster is deleted in each of the ways that kubectl knows; nothing is left but what was to be kept. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { until } from "../lib/until.ts";
import { WriteClient } from "../lib/write-client/write-client.ts";
import { kubectl } from "./cluster.ts";
import * as clusters from "./clusters.ts";
import { installOperator } from "./install.ts";
import { eventOf } from "./operator.ts";

const namespace = `deletion-${crypto.randomUUID().slice(0, 6)}`;
const inNamespace = ["-n", namespace];
const SLOW = { timeoutMs: 180_000 };

beforeAll(async () => {
  await installOperator();
  await kubectl(["create", "namespace", namespace]);
}, 300_000);

afterAll(async () => {
  await kubectl(["delete", "namespace", namespace, "--ignore-not-found", "--wait=false"]);
}, 300_000);

async function made(name: string, pvc: object): Promise<clusters.ClusterRef> {
  const ref = { namespace, name };
  await clusters.applyCluster(ref, { pvc: { storageSize: "64Mi", ...pvc } });
  await clusters.clusterReady(ref, SLOW);
  return ref;
}

/** All that carries the cluster's label, whoever made it. */
async function left({ name }: clusters.ClusterRef): Promise<string> {
  const kinds = "valkeynodes,statefulsets,pods,services,configmaps,secrets,pdb,pvc,networkpolicies";
  return (await kubectl(["get", kinds, ...inNamespace, "-l", `valkey.io/cr=${name}`, "-o", "name"])).trim();
}

test("in the background, with half of its objects gone already: all goes, volumes too if that was asked for", async () => {
  const ref = await made("half", { whenDeleted: "Delete" });
  const gone = ["statefulset/half-0-0", "service/half", "configmap/half-config", "pdb/half-1", "valkeynode/half-2-0"];
  await kubectl(["delete", ...inNamespace, ...gone, "--wait=false"]);
  await kubectl(["delete", "pod", "half-1-0-0", ...inNamespace, "--wait=false"]);
  await kubectl(["delete", "vc", ref.name, ...inNamespace, "--cascade=background", "--timeout=180s"]);
  await until("nothing of it is left", async () => (await left(ref)) === "", { timeoutMs: 120_000 });
}, 600_000);

test("with --cascade=orphan its servers go on, and applied again it takes them back as they run", async () => {
  const ref = await made("orphan", { whenDeleted: "Delete" });
  const before = await clusters.containersOf(ref);
  const addresses = await clusters.addressesOf(ref);
  await using writer = await WriteClient.start({ addresses, frontEnd: "prober", rate: 60 });
  await kubectl(["delete", "vc", ref.name, ...inNamespace, "--cascade=orphan", "--timeout=120s"]);
  await eventOf(namespace, ref.name, "ClusterOrphaned");
  const owners = ["get", "valkeynodes", ...inNamespace, "-o", "jsonpath={..ownerReferences}"];
  await until("its nodes belong to nobody", async () => (await kubectl(owners)) === "");
  expect(await clusters.containersOf(ref)).toEqual(before);
  await clusters.applyCluster(ref, { pvc: { storageSize: "64Mi" } });
  await clusters.clusterReady(ref, SLOW);
  await until("its nodes belong to it", async () => (await kubectl(owners)).split("ValkeyCluster").length === 7);
  expect(await clusters.containersOf(ref)).toEqual(before);
  const { lost, unread, errors } = await writer.stop();
  expect({ lost, unread, errors }).toEqual({ lost: [], unread: 0, errors: {} });
}, 600_000);

test("in the foreground, taken back or not, it ends with its pods", async () => {
  const ref = { namespace, name: "orphan" };
  await kubectl(["delete", "vc", ref.name, ...inNamespace, "--cascade=foreground", "--timeout=180s"]);
  expect(await clusters.podsOf(ref)).toEqual([]);
  const claims = ["get", "pvc", ...inNamespace, "-l", "valkey.io/cr=orphan", "-o", "name"];
  expect((await kubectl(claims)).trim().split("\n")).toHaveLength(6);
}, 300_000);
