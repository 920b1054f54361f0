/** Pods go for good from where they were: kubelet evicts one, a Node never comes back. They come back elsewhere. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { run } from "../../scripts/lib.ts";
import * as faults from "../lab/faults.ts";
import { onHost } from "../lab/host.ts";
import type { Lab } from "../lab/lab.ts";
import { died, moment, unexcused } from "../lib/losses.ts";
import { until } from "../lib/until.ts";
import { kubectl } from "./cluster.ts";
import { clusterWhere, SMALL } from "./clusters.ts";
import { HealCluster } from "./heal-cluster.ts";
import * as heal from "./heal-lab.ts";
import type { Member } from "./heal-members.ts";

const SHAPE = { version: "9.1", replicas: 1 } as const;
const CASE_MS = 480_000;
/** What a pod may write; kubelet evicts one that has written more. */
const LIMIT_MIB = 16;

describe.skipIf(heal.WITHOUT_LAB)("heal elsewhere:", () => {
  let lab: Lab;
  let cluster: HealCluster;
  beforeAll(async () => {
    lab = await heal.openHealLab();
    cluster = new HealCluster({ namespace: await heal.makeNamespace("heal-away"), name: "heal" }, SHAPE);
    const limits = { ...SMALL.resources.limits, "ephemeral-storage": `${LIMIT_MIB}Mi` };
    await cluster.make({ resources: { ...SMALL.resources, limits } });
  }, heal.PREPARATION_MS);
  afterAll(() => heal.removeNamespace(cluster.ref.namespace), 300_000);

  /** Something in the pod writes more than it may. */
  async function writeTooMuch({ pod, node, uid }: Member): Promise<void> {
    const host = faults.nodeNamed(lab, node);
    const folder = join(host.home, "kubelet/pods", uid, "volumes/kubernetes.io~empty-dir/data");
    await run([...onHost(host.name), "sh", "-ec", `head -c ${LIMIT_MIB * 4}M /dev/zero > ${folder}/too-much`]);
    const events = ["get", "events", "-n", cluster.ref.namespace, "-o", "jsonpath={.items[*].reason}"];
    const about = ["--field-selector", `involvedObject.name=${pod}`];
    const evicted = async () => (await kubectl([...events, ...about])).includes("Evicted");
    await until("kubelet evicts it", evicted, { timeoutMs: 180_000, everyMs: 200 });
  }

  test(
    "a primary that kubelet evicts is replaced by its replica, and its pod comes back empty and is filled",
    async () => {
      const primary = await cluster.primary(0);
      const { report, value: evicted } = await cluster.writing(async () => {
        const evicted = await moment(() => writeTooMuch(primary));
        await cluster.replaced(primary);
        await cluster.healthy();
        return evicted;
      });
      expect(unexcused(report, [died([0], evicted, "eviction")])).toEqual([]);
      expect(report).toMatchObject({ unread: 0, unacknowledged: 0 });
      const back = (await cluster.members()).find(({ pod }) => pod === primary.pod);
      expect(back?.uid).not.toBe(primary.uid);
    },
    CASE_MS,
  );

  test(
    "pods of a Node that is off wait for somebody to say that it is for good, and then come back on others",
    async () => {
      const primary = await heal.lonePrimary(cluster);
      const node = faults.nodeNamed(lab, primary.node);
      const taint = "node.kubernetes.io/out-of-service=nodeshutdown:NoExecute";
      const { report, value: cut } = await cluster.writing(async () => {
        let powerOn: faults.Heal = async () => {};
        const cut = await moment(async () => {
          powerOn = await faults.powerCutNode(lab, node);
        });
        try {
          await clusterWhere(cluster.ref, "names the command", ({ status }) =>
            (status?.troubles ?? []).some(({ message }) =>
              message.includes(`kubectl taint node ${primary.node} ${taint}`),
            ),
          );
          await kubectl(["taint", "node", primary.node, taint]);
          const members = await cluster.healthy();
          expect(members.filter((one) => one.node === primary.node)).toEqual([]);
        } finally {
          await powerOn();
          await kubectl(["taint", "node", primary.node, `${taint}-`]);
        }
        return cut;
      });
      expect(unexcused(report, [died([primary.shard], cut, "power cut")])).toEqual([]);
      await until(
        "the Node is ready",
        async () => {
          const ready = `jsonpath={.status.conditions[?(@.type=="Ready")].status}`;
          return (await kubectl(["get", "node", primary.node, "-o", ready])) === "True";
        },
        { timeoutMs: 120_000 },
      );
    },
    CASE_MS,
  );
});
