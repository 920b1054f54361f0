/** A newer release that is taken back halfway: replicas that ran it have files which the older one cannot read. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { PODS } from "../../pkg/kube/resource.ts";
import { until } from "../lib/until.ts";
import { kubectl } from "./cluster.ts";
import { applyCluster, cli, clusterReady, clusterWhere } from "./clusters.ts";
import { installOperator, rolledOut, scaleOperator } from "./install.ts";
import { client } from "./operator.ts";
import { changeSpec, isDone, PATIENCE, uidsOf } from "./rolling.ts";
import { UNHARMED, verdict, whileWriting } from "./writes.ts";

const namespace = `back-${crypto.randomUUID().slice(0, 6)}`;
const ref = { namespace, name: "shop" };
const FIRST = "shop-0-1-0";

beforeAll(async () => {
  await installOperator();
  await kubectl(["create", "namespace", namespace]);
  const volumes = { pvc: { storageSize: "64Mi" } };
  await applyCluster(ref, { masterCount: 3, replicasPerMaster: 1, valkeyImage: { tag: "8.1" }, ...volumes });
  await clusterReady(ref, { timeoutMs: 180_000 });
}, 300_000);

afterAll(async () => {
  await scaleOperator(2);
  await rolledOut();
  await kubectl(["delete", "namespace", namespace, "--ignore-not-found", "--wait=false"]);
}, 300_000);

/** Read in this process: while a kubectl starts the operator may go on to the next pod. */
async function runs(pod: string, image: string): Promise<boolean> {
  const { spec } = await client.get(PODS, { namespace, name: pod });
  return JSON.stringify(spec).includes(`"image":"${image}"`);
}

async function info(pod: string, section: string): Promise<string> {
  return cli(ref, pod, "info", section);
}

test("the replica's newer files are set aside, and it has everything again", async () => {
  const before = await uidsOf(ref);
  const felt = await whileWriting(ref, async () => {
    await changeSpec(ref, { valkeyImage: { tag: "9.1" } });
    await until("the first pod has the newer image", () => runs(FIRST, "valkey/valkey:9.1"), PATIENCE);
    // Nobody goes on with the change before it is taken back.
    await scaleOperator(0);
    await until(
      "the newer replica has everything",
      async () => (await info(FIRST, "replication")).includes("master_link_status:up"),
      PATIENCE,
    );
    expect(await info(FIRST, "server")).toContain("valkey_version:9.1");
    // A server that is saving in the background refuses.
    await until("it has saved", async () => (await cli(ref, FIRST, "save")) === "OK");
    await changeSpec(ref, { valkeyImage: { tag: "8.1" } });
    await scaleOperator(2);
    await clusterWhere(ref, "is as before", isDone, PATIENCE);
    expect(await info(FIRST, "server")).toContain("valkey_version:8.1");
  });
  expect(verdict(felt)).toEqual(UNHARMED);
  expect((await uidsOf(ref)).filter((uid) => !before.includes(uid))).toHaveLength(1);
  const told = ["get", "events", "-n", namespace, "--field-selector=reason=FilesSetAside"];
  const words = "shop-0-1: Valkey 8.1 cannot read what 9.1";
  await until("an event tells it", async () =>
    (await kubectl([...told, "-o", "jsonpath={.items[*].message}"])).includes(words),
  );
}, 600_000);
