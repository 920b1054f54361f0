/** A change that cannot work stops at the first pod, with the cluster serving, and goes back when the spec goes back. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { ValkeyCluster } from "../../pkg/api/cluster.ts";
import { kubectl } from "./cluster.ts";
import { applyCluster, clusterReady, clusterWhere } from "./clusters.ts";
import { installOperator } from "./install.ts";
import { changeSpec, heldBy, isDone, PATIENCE, uidsOf } from "./rolling.ts";
import { UNHARMED, verdict, whileWriting } from "./writes.ts";

const namespace = `stops-${crypto.randomUUID().slice(0, 6)}`;
const ref = { namespace, name: "shop" };
const FIRST = "shop-0-1";

beforeAll(async () => {
  await installOperator();
  await kubectl(["create", "namespace", namespace]);
  await applyCluster(ref, { masterCount: 3, replicasPerMaster: 1, pvc: { storageSize: "64Mi" } });
  await clusterReady(ref, { timeoutMs: 180_000 });
}, 300_000);

afterAll(async () => {
  await kubectl(["delete", "namespace", namespace, "--ignore-not-found", "--wait=false"]);
}, 300_000);

/** How many pods are others than before. */
async function replaced(before: readonly (string | undefined)[]): Promise<number> {
  return (await uidsOf(ref)).filter((uid) => !before.includes(uid)).length;
}

const troubled = (reason: string) => (cluster: ValkeyCluster) =>
  cluster.status?.troubles?.some((trouble) => trouble.reason === reason) === true;

test("an image that does not exist", async () => {
  const before = await uidsOf(ref);
  const felt = await whileWriting(ref, async () => {
    await changeSpec(ref, { valkeyImage: { name: "localhost/no-such-image" } });
    const { status } = await clusterWhere(ref, "says what is wrong", troubled("ImageCannotBePulled"), PATIENCE);
    expect(status?.slotsAssigned).toBe(16_384);
    await heldBy(ref, "new-pods-well", FIRST);
    expect(await replaced(before)).toBe(1);
    await changeSpec(ref, { valkeyImage: { name: "valkey/valkey" } });
    await clusterWhere(ref, "is as before", isDone, PATIENCE);
  });
  expect(await replaced(before)).toBe(1);
  expect(verdict(felt)).toEqual(UNHARMED);
}, 600_000);

test("a setting with which a server does not start", async () => {
  const before = await uidsOf(ref);
  const felt = await whileWriting(ref, async () => {
    await changeSpec(ref, { config: { databases: "0" } });
    const { status } = await clusterWhere(ref, "says what is wrong", troubled("CrashLoop"), PATIENCE);
    expect(status?.slotsAssigned).toBe(16_384);
    await heldBy(ref, "new-pods-well", FIRST);
    expect(await replaced(before)).toBe(1);
    await changeSpec(ref, { config: null });
    await clusterWhere(ref, "is as before", isDone, PATIENCE);
  });
  expect(await replaced(before)).toBe(1);
  expect(verdict(felt)).toEqual(UNHARMED);
}, 600_000);
