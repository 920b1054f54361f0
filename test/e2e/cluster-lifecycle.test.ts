/** Data outlives pods and even the ValkeyCluster: what a suspended cluster and one that is made again come back with. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { ValkeyCluster } from "../../pkg/api/cluster.ts";
import { kubectl } from "./cluster.ts";
import * as clusters from "./clusters.ts";
import { installOperator } from "./install.ts";
import { eventOf } from "./operator.ts";

const namespace = `lifecycle-${crypto.randomUUID().slice(0, 6)}`;
const ref = { namespace, name: "shop" };
const SPEC = { masterCount: 3, replicasPerMaster: 1, pvc: { storageSize: "64Mi" } };
const KEYS = Array.from({ length: 12 }, (_, n) => `key:${n}`);
const SLOW = { timeoutMs: 180_000 };

beforeAll(async () => {
  await installOperator();
  await kubectl(["create", "namespace", namespace]);
}, 300_000);

afterAll(async () => {
  await kubectl(["delete", "namespace", namespace, "--ignore-not-found", "--wait=false"]);
}, 300_000);

async function change(spec: object): Promise<void> {
  await kubectl(["patch", "vc", ref.name, "-n", namespace, "--type=merge", "-p", JSON.stringify({ spec })]);
}

const claims = async () =>
  (await kubectl(["get", "pvc", "-n", namespace, "-l", `valkey.io/cr=${ref.name}`, "-o", "name"])).trim().split("\n");

const holds = ({ status }: ValkeyCluster) => (status?.holds ?? []).map(({ predicate }) => predicate);
const free = (cluster: ValkeyCluster) => holds(cluster).length === 0;

async function write(): Promise<void> {
  for (const key of KEYS) {
    expect(await clusters.cli(ref, "shop-0-0-0", "-c", "set", key, `value of ${key}`)).toBe("OK");
  }
}

async function expectAll(): Promise<void> {
  // One after another: twelve kubectl at once are more than two cores bear.
  for (const key of KEYS) {
    expect(await clusters.cli(ref, "shop-1-0-0", "-c", "get", key)).toBe(`value of ${key}`);
  }
}

async function deleteCluster(...flags: readonly string[]): Promise<void> {
  await kubectl(["delete", "vc", ref.name, "-n", namespace, "--timeout=180s", ...flags]);
}

test("a suspended cluster comes back with its data, and with the pods that were asked for meanwhile", async () => {
  await clusters.applyCluster(ref, SPEC);
  await clusters.clusterReady(ref, SLOW);
  await write();
  await change({ suspended: true });
  await clusters.clusterWhere(ref, "is suspended", ({ status }) => status?.phase === "Suspended", SLOW);
  await change({ resources: { limits: { memory: "160Mi" } } });
  await change({ suspended: false });
  await clusters.clusterWhere(ref, "is Ready, nothing held", (one) => clusters.holds(one, "Ready") && free(one), SLOW);
  await expectAll();
  const limit = "jsonpath={.spec.containers[?(@.name=='valkey')].resources.limits.memory}";
  expect(await kubectl(["get", "pod", "shop-0-0-0", "-n", namespace, "-o", limit])).toBe("160Mi");
}, 600_000);

test("deleted in the foreground it keeps its volumes and says so; made again it has its data", async () => {
  await deleteCluster("--cascade=foreground");
  expect(await clusters.podsOf(ref)).toEqual([]);
  expect(await claims()).toHaveLength(6);
  expect((await eventOf(namespace, ref.name, "VolumesKept")).note).toContain("shop-0-0-data");
  await clusters.applyCluster(ref, SPEC);
  await clusters.clusterReady(ref, SLOW);
  await expectAll();
}, 600_000);
