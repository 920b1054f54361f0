/** A newer release that is taken back halfway: replicas that ran it have files which the older one cannot read. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { PODS } from "../../pkg/kube/resource.ts";
import { until } from "../lib/until.ts";
import { kubectl } from "./cluster.ts";
import { applyCluster, cli, clusterAt, clusterReady, clusterWhere } from "./clusters.ts";
import { installOperator } from "./install.ts";
import { client } from "./operator.ts";
import { changeSpec, heldBy, isDone, PATIENCE, uidsOf } from "./rolling.ts";
import { UNHARMED, verdict, whileWriting } from "./writes.ts";

const namespace = `back-${crypto.randomUUID().slice(0, 6)}`;
const ref = { namespace, name: "shop" };

beforeAll(async () => {
  await installOperator();
  await kubectl(["create", "namespace", namespace]);
  const volumes = { pvc: { storageSize: "64Mi" } };
  await applyCluster(ref, { masterCount: 3, replicasPerMaster: 1, valkeyImage: { tag: "8.1" }, ...volumes });
  await clusterReady(ref, { timeoutMs: 180_000 });
}, 300_000);

afterAll(async () => {
  await kubectl(["delete", "namespace", namespace, "--ignore-not-found", "--wait=false"]);
}, 300_000);

async function runs(pod: string, image: string): Promise<boolean> {
  const { spec } = await client.get(PODS, { namespace, name: pod });
  return JSON.stringify(spec).includes(`"image":"${image}"`);
}

async function info(pod: string, section: string): Promise<string> {
  return cli(ref, pod, "info", section);
}

/** Opens for an hour, three hours from now. */
function closedWindow(): string {
  return `0 ${(new Date().getUTCHours() + 3) % 24} * * *`;
}

test("the replica's newer files are set aside, and it has everything again", async () => {
  const before = await uidsOf(ref);
  // Whichever that is: a failover while the cluster came up may have made another one lead.
  const replica = (await clusterAt(ref)).status?.shards?.[0]?.replicas?.[0]?.name ?? "none";
  const first = `${replica}-0`;
  const felt = await whileWriting(ref, async () => {
    // It waits for a Node that is not there, until the window is closed: its next step would come as soon as it is ready.
    await changeSpec(ref, { valkeyImage: { tag: "9.1" }, nodeSelector: { "kubernetes.io/hostname": "nowhere" } });
    await until("the first pod has the newer image", () => runs(first, "valkey/valkey:9.1"), PATIENCE);
    await changeSpec(ref, { update: { window: closedWindow() }, nodeSelector: null });
    await until(
      "the newer replica has everything",
      async () => (await info(first, "replication")).includes("master_link_status:up"),
      PATIENCE,
    );
    expect(await info(first, "server")).toContain("valkey_version:9.1");
    // A server that is saving in the background refuses.
    await until("it has saved", async () => (await cli(ref, first, "save")) === "OK");
    await heldBy(ref, "window-open", "pods are replaced only");
    await changeSpec(ref, { valkeyImage: { tag: "8.1" }, update: { window: null } });
    await clusterWhere(ref, "is as before", isDone, PATIENCE);
    expect(await info(first, "server")).toContain("valkey_version:8.1");
  });
  expect(verdict(felt)).toEqual(UNHARMED);
  expect((await uidsOf(ref)).filter((uid) => !before.includes(uid))).toHaveLength(1);
  const told = ["get", "events", "-n", namespace, "--field-selector=reason=FilesSetAside"];
  const words = `${replica}: Valkey 8.1 cannot read what 9.1`;
  await until("an event tells it", async () =>
    (await kubectl([...told, "-o", "jsonpath={.items[*].message}"])).includes(words),
  );
}, 600_000);
