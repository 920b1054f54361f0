/** A volume is full: the rest is served, the status says what to do, and all is well again when there is room. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import * as faults from "../lab/faults.ts";
import type { Lab } from "../lab/lab.ts";
import { until } from "../lib/until.ts";
import { kubectl } from "./cluster.ts";
import { clusterWhere } from "./clusters.ts";
import { HealCluster, moreWrites } from "./heal-cluster.ts";
import * as heal from "./heal-lab.ts";
import type { Member } from "./heal-members.ts";

const SHAPE = { version: "9.1", replicas: 1 } as const;
const PODS = 6;
const MEBIBYTES = 24;
const CASE_MS = 480_000;

describe.skipIf(heal.WITHOUT_LAB)("heal from a full disk:", () => {
  let lab: Lab;
  let cluster: HealCluster;
  let volumes: readonly faults.SmallVolume[];
  beforeAll(async () => {
    lab = await heal.openHealLab();
    const storageClassName = `small-${crypto.randomUUID().slice(0, 6)}`;
    const nodes = Array.from({ length: PODS }, (_, index) => faults.nodeNamed(lab, `node${index % lab.nodes.length}`));
    const options = { mebibytes: MEBIBYTES, storageClassName };
    volumes = await Promise.all(nodes.map((node) => faults.smallVolume(lab, node, options)));
    cluster = new HealCluster({ namespace: await heal.makeNamespace("heal-full"), name: "heal" }, SHAPE);
    await cluster.make({ pvc: { storageSize: `${MEBIBYTES}Mi`, storageClassName } });
  }, heal.PREPARATION_MS);
  afterAll(async () => {
    await heal.removeNamespace(cluster.ref.namespace);
    for (const volume of volumes) await volume.remove();
  }, 300_000);

  async function fill({ pod }: Member): Promise<faults.Heal> {
    const claim = `${pod.replace(/-0$/, "")}-data`;
    const get = ["get", "pvc", "-n", cluster.ref.namespace, claim, "-o", "jsonpath={.spec.volumeName}"];
    const name = await kubectl(get);
    const volume = volumes.find((one) => one.name === name);
    if (volume === undefined) throw new Error(`${claim} is bound to ${name}`);
    return volume.fill();
  }

  async function told(pod: string): Promise<void> {
    await clusterWhere(cluster.ref, `says that the disk of ${pod} is full, and what to do`, ({ status }) =>
      (status?.troubles ?? []).some(({ reason, message }) => {
        return reason === "DiskFull" && message.includes(pod) && message.includes("raise spec.pvc.storageSize");
      }),
    );
  }

  async function roomAgain(): Promise<void> {
    await cluster.healthy();
    await clusterWhere(cluster.ref, "has no full disk", ({ status }) =>
      (status?.troubles ?? []).every(({ reason }) => reason !== "DiskFull"),
    );
  }

  test(
    "a primary whose volume is full takes no writes, its agent lives, and all goes on when there is room",
    async () => {
      const primary = await cluster.primary(1);
      const agentRestarts = async () => (await heal.restartsOf(cluster, primary.pod)).agent;
      const before = await agentRestarts();
      const { report } = await cluster.writing(async (client) => {
        const makeRoom = await fill(primary);
        try {
          await told(primary.pod);
          await until("its shard's writes wait", () => client.waiting > 0);
          // The other shards go on.
          await moreWrites(client);
        } finally {
          await makeRoom();
        }
        await roomAgain();
      });
      expect(report).toMatchObject({ lost: [], unread: 0, unacknowledged: 0 });
      // The server may have ended: it cannot do without its cluster file.
      expect(await agentRestarts()).toBe(before);
    },
    CASE_MS,
  );

  test(
    "a replica whose volume is full is done without",
    async () => {
      const primary = await cluster.primary(2);
      const replica = (await cluster.healthy()).find(({ shard, pod }) => shard === 2 && pod !== primary.pod);
      if (replica === undefined) throw new Error("shard 2 has no replica");
      const { report } = await cluster.writing(async (client) => {
        const makeRoom = await fill(replica);
        try {
          await told(replica.pod);
          await moreWrites(client);
        } finally {
          await makeRoom();
        }
        await roomAgain();
      });
      expect(report).toMatchObject({ lost: [], unread: 0, unacknowledged: 0 });
      expect(report.worstGapMs).toBeLessThan(5000);
    },
    CASE_MS,
  );
});
