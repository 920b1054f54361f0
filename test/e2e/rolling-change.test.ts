/** Changes that need other pods, under clients that write: nobody loses a write or sees an error. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { VALKEY_VERSIONS } from "../lab/valkey.ts";
import { until } from "../lib/until.ts";
import { kubectl } from "./cluster.ts";
import { applyCluster, type ClusterRef, cli, clusterReady, clusterWhere, podsOf } from "./clusters.ts";
import { installOperator } from "./install.ts";
import { eventOf } from "./operator.ts";
import { changeSpec, handoversOf, heldBy, isDone, rolledOver, uidsOf } from "./rolling.ts";
import { gapsText, UNHARMED, verdict, whileWriting } from "./writes.ts";

const namespace = `rolling-${crypto.randomUUID().slice(0, 6)}`;
const SPEC = { masterCount: 3, replicasPerMaster: 1, pvc: { storageSize: "64Mi" } };
const image = (tag: string) => ({ valkeyImage: { name: "valkey/valkey", tag } });

beforeAll(async () => {
  await installOperator();
  await kubectl(["create", "namespace", namespace]);
}, 300_000);

afterAll(async () => {
  await kubectl(["delete", "namespace", namespace, "--ignore-not-found", "--wait=false"]);
}, 300_000);

async function memoryLimits(ref: ClusterRef): Promise<readonly string[]> {
  const limit = "jsonpath={.spec.containers[?(@.name=='valkey')].resources.limits.memory}";
  const names = (await podsOf(ref)).map(({ metadata }) => metadata.name);
  return Promise.all(names.map(async (name) => kubectl(["get", "pod", name, "-n", namespace, "-o", limit])));
}

/** One cluster at a time; the last one is that of the oldest version, which goes on to the newest. */
describe.each(VALKEY_VERSIONS.toReversed())("Valkey %s", (version) => {
  const ref = { namespace, name: `v${version.replace(".", "")}` };

  afterAll(async () => {
    if (version !== VALKEY_VERSIONS[0]) await kubectl(["delete", "vc", ref.name, "-n", namespace, "--timeout=180s"]);
  }, 300_000);

  test("other resources: every pod is replaced, no write is lost, no client sees an error", async () => {
    await applyCluster(ref, { ...SPEC, ...image(version) });
    await clusterReady(ref, { timeoutMs: 180_000 });
    const before = await uidsOf(ref);
    const felt = await whileWriting(ref, async () => {
      await changeSpec(ref, { resources: { limits: { memory: "160Mi" } } });
      await rolledOver(ref, before);
    });
    console.log(`${version}: ${gapsText(felt)}; ${await handoversOf(ref)}`);
    expect(verdict(felt)).toEqual(UNHARMED);
    expect(await memoryLimits(ref)).toEqual(Array.from({ length: 6 }, () => "160Mi"));
    expect((await eventOf(namespace, ref.name, "RollingChange")).note).toContain("resources of valkey");
    expect((await eventOf(namespace, ref.name, "RollingChangeDone")).note).toContain("all 6 pods");
  }, 600_000);

  test("a setting that needs a restart restarts; one that does not restarts nothing", async () => {
    const before = await uidsOf(ref);
    await changeSpec(ref, { config: { "maxmemory-policy": "allkeys-lru" } });
    const applied = async () =>
      (await cli(ref, `${ref.name}-0-0-0`, "config", "get", "maxmemory-policy")).includes("allkeys-lru");
    await clusterWhere(ref, "has applied it", isDone);
    await until("the server has it", applied);
    expect(await uidsOf(ref)).toEqual(before);
    await changeSpec(ref, { config: { "maxmemory-policy": "allkeys-lru", "set-proc-title": "no" } });
    await rolledOver(ref, before);
    await until("the server was started with it", async () =>
      (await cli(ref, `${ref.name}-0-0-0`, "config", "get", "set-proc-title")).includes("no"),
    );
  }, 600_000);
});

describe("8.1 to 9.1", () => {
  const ref = { namespace, name: "v81" };

  test("a window that is closed holds it", async () => {
    const before = await uidsOf(ref);
    const hour = (new Date().getUTCHours() + 12) % 24;
    await changeSpec(ref, { update: { window: `0 ${hour} * * *` }, ...image("9.1") });
    await heldBy(ref, "window-open", "next at");
    expect(await uidsOf(ref)).toEqual(before);
  }, 300_000);

  test("no write is lost and no client sees an error", async () => {
    const before = await uidsOf(ref);
    const felt = await whileWriting(ref, async () => {
      await changeSpec(ref, { update: { window: "" } });
      const { status } = await rolledOver(ref, before);
      expect(status?.version).toStartWith("9.1");
    });
    console.log(`8.1 to 9.1: ${gapsText(felt)}; ${await handoversOf(ref)}`);
    expect(verdict(felt)).toEqual(UNHARMED);
  }, 600_000);

  test("the way back is refused with the reason, and nothing is touched", async () => {
    const before = await uidsOf(ref);
    await changeSpec(ref, image("8.1"));
    await heldBy(ref, "no-downgrade", "an older server cannot read what a newer one wrote");
    expect(await uidsOf(ref)).toEqual(before);
    await changeSpec(ref, image("9.1"));
    await clusterWhere(ref, "holds nothing", (cluster) => isDone(cluster) && cluster.status?.holds?.length === 0);
    expect(await uidsOf(ref)).toEqual(before);
  }, 300_000);
});
