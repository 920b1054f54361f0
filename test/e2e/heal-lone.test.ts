/** A cluster without replicas: each server is the only copy, and comes back from its disk. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import * as faults from "../lab/faults.ts";
import type { Lab } from "../lab/lab.ts";
import { until } from "../lib/until.ts";
import { HealCluster } from "./heal-cluster.ts";
import * as heal from "./heal-lab.ts";

/** kubelet restarts a container that crashed for the first time at once; what is on its disk is little. */
const BACK_MS = 10_000;

describe.skipIf(heal.WITHOUT_LAB)("heal without replicas:", () => {
  let lab: Lab;
  let cluster: HealCluster;
  beforeAll(async () => {
    lab = await heal.openHealLab();
    const shape = { version: "8.1", replicas: 0 } as const;
    cluster = new HealCluster({ namespace: await heal.makeNamespace("heal-lone"), name: "lone" }, shape);
    await cluster.make();
  }, heal.PREPARATION_MS);
  afterAll(() => heal.removeNamespace(cluster.ref.namespace), 300_000);

  test("the only copy that crashes comes back as primary with what its disk has", async () => {
    const primary = await cluster.primary(1);
    const restarts = async () => (await heal.restartsOf(cluster, primary.pod)).valkey;
    const before = await restarts();
    const { report } = await cluster.writing(async () => {
      await faults.killContainer(lab, cluster.container(primary.pod, "valkey"));
      await until("it was restarted", async () => (await restarts()) > before);
      await cluster.primary(1);
    });
    // The append-only file has what was acknowledged, as far as the kernel lives: it is the process that died.
    expect(report).toMatchObject({ lost: [], unread: 0, unacknowledged: 0 });
    expect(report.worstGapMs).toBeLessThan(BACK_MS);
    await cluster.healthy();
  }, 300_000);
});
