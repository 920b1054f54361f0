/** Pods go and come back with other addresses, with or without their volumes. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import * as faults from "../lab/faults.ts";
import type { Lab } from "../lab/lab.ts";
import { died, moment, unexcused } from "../lib/losses.ts";
import { until } from "../lib/until.ts";
import { kubectl } from "./cluster.ts";
import { cli } from "./clusters.ts";
import { HealCluster, type Shape, shapes, shapeText } from "./heal-cluster.ts";
import * as heal from "./heal-lab.ts";

const CASE_MS = 480_000;
const SPEC = { pvc: { storageSize: "64Mi" } };

for (const shape of shapes({ version: "9.1", replicas: 1 }))
  describe.skipIf(heal.WITHOUT_LAB)(`heal from disk, ${shapeText(shape)}:`, () => suite(shape));

function suite(shape: Shape): void {
  let lab: Lab;
  let cluster: HealCluster;
  beforeAll(async () => {
    lab = await heal.openHealLab();
    cluster = new HealCluster({ namespace: await heal.makeNamespace("heal-disk"), name: "heal" }, shape);
    await cluster.make(SPEC);
  }, heal.PREPARATION_MS);
  afterAll(() => heal.removeNamespace(cluster.ref.namespace), 300_000);

  test(
    "when every pod is deleted at once all come back with new addresses, all slots and all data",
    async () => {
      const before = await cluster.healthy();
      const { report } = await cluster.writing(async () => {
        const { namespace, name } = cluster.ref;
        await kubectl(["delete", "pod", "-n", namespace, "-l", `valkey.io/cr=${name}`, "--wait=false"]);
        await until("every pod is another", () => renewed(cluster, before), { timeoutMs: 180_000, everyMs: 200 });
        await cluster.healthy();
      });
      expect(report).toMatchObject({ lost: [], unread: 0, unacknowledged: 0 });
      const known = new Set(before.map(({ ip }) => ip));
      expect((await cluster.members()).filter(({ ip }) => known.has(ip))).toEqual([]);
    },
    CASE_MS,
  );

  test(
    "two of three primaries that die at once heal by themselves",
    async () => {
      const dead = [await cluster.primary(1), await cluster.primary(2)];
      const { report, value: killed } = await cluster.writing(async () => {
        const killed = await moment(() =>
          Promise.all(dead.map(({ pod }) => faults.killContainer(lab, cluster.container(pod, "valkey")))),
        );
        for (const { shard } of dead) await cluster.primary(shard);
        await cluster.healthy();
        return killed;
      });
      expect(unexcused(report, [died([1, 2], killed, "crash")])).toEqual([]);
      expect(report).toMatchObject({ unread: 0, unacknowledged: 0 });
    },
    CASE_MS,
  );

  test(
    "a primary whose volume is lost is filled from its replica, which leads",
    async () => {
      const primary = await cluster.primary(0);
      const claim = `${primary.pod.replace(/-0$/, "")}-data`;
      const { report, value: gone } = await cluster.writing(async () => {
        const { namespace } = cluster.ref;
        await kubectl(["delete", "pvc", "-n", namespace, claim, "--wait=false"]);
        const gone = await moment(() => heal.forceDelete(cluster, primary.pod));
        const leader = await cluster.replaced(primary);
        expect(leader.pod).not.toBe(primary.pod);
        await cluster.healthy();
        return gone;
      });
      // kubelet lets the containers of a pod that is gone run on for a moment; until then its server leads rightly.
      const { begun, done } = gone;
      expect(unexcused(report, [died([0], { begun, done: done + 5000 }, "volume")])).toEqual([]);
      expect(report).toMatchObject({ unread: 0, unacknowledged: 0 });
    },
    CASE_MS,
  );

  test(
    "when the power of every machine is cut at once it re-forms from what was saved",
    async () => {
      const members = await cluster.healthy();
      const keys = Array.from({ length: 12 }, (_, index) => `saved-${index}`);
      const at = members[0]?.pod ?? "";
      for (const key of keys) expect(await cli(cluster.ref, at, "-c", "set", key, key)).toBe("OK");
      // A server that is saving in the background refuses.
      for (const { pod } of members)
        await until(`${pod} has saved`, async () => (await cli(cluster.ref, pod, "save")) === "OK");
      const powerOn = await Promise.all(lab.nodes.map((node) => faults.powerCutNode(lab, node)));
      await Promise.all(powerOn.map((heal) => heal()));
      await cluster.healthy({ timeoutMs: 300_000 });
      // A call that fails is made again; an answer counts, whatever it is.
      for (const key of keys)
        expect(await until(`an answer for ${key}`, () => cli(cluster.ref, at, "-c", "get", key))).toBe(key);
    },
    CASE_MS + 60_000,
  );
}

async function renewed(cluster: HealCluster, before: readonly { readonly uid: string }[]): Promise<boolean> {
  const known = new Set(before.map(({ uid }) => uid));
  const members = await cluster.members();
  return members.length === before.length && members.every(({ uid }) => !known.has(uid));
}
