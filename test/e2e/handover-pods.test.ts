/** Pods go with grace, each in another way, under clients that write: their shards are handed over first. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { VALKEY_VERSIONS } from "../lab/valkey.ts";
import { until } from "../lib/until.ts";
import { kubectl } from "./cluster.ts";
import { applyCluster, cli, clusterReady } from "./clusters.ts";
import { HealCluster } from "./heal-cluster.ts";
import { makeNamespace, PREPARATION_MS, removeNamespace, WITHOUT_LAB } from "./heal-lab.ts";
import type { Member } from "./heal-members.ts";
import { installOperator } from "./install.ts";
import { eventOf } from "./operator.ts";
import { gapsText, UNHARMED, verdict, whileWriting } from "./writes.ts";

const CASE_MS = 480_000;
const SPEC = { pvc: { storageSize: "64Mi" } };

let namespace = "";
beforeAll(async () => {
  await installOperator();
  namespace = await makeNamespace("handover");
}, PREPARATION_MS);
afterAll(() => removeNamespace(namespace), 300_000);

const deletePods = (...members: readonly Member[]) =>
  kubectl(["delete", "pod", "-n", namespace, "--wait=false", ...members.map(({ pod }) => pod)]);

describe.each([...VALKEY_VERSIONS])("Valkey %s", (version) => {
  let cluster: HealCluster;
  beforeAll(async () => {
    const name = `v${version.replace(".", "")}`;
    cluster = new HealCluster({ namespace, name }, { version, replicas: 1 });
    await cluster.make(SPEC);
  }, PREPARATION_MS);
  afterAll(async () => void (await kubectl(["delete", "vc", "-n", namespace, cluster.ref.name, "--timeout=180s"])));

  /** Each of them has a successor in its shard, and comes back beside it. */
  async function succeeded(gone: readonly Member[]): Promise<void> {
    for (const member of gone) await cluster.replaced(member);
    await cluster.healthy();
  }

  test(
    "one that is deleted, and two of different shards at once",
    async () => {
      const felt = await whileWriting(cluster.ref, async () => {
        const one = await cluster.primary(0);
        await deletePods(one);
        await succeeded([one]);
        const two = [await cluster.primary(1), await cluster.primary(2)];
        await deletePods(...two);
        await succeeded(two);
      });
      console.log(`${version}, deleted: ${gapsText(felt)}`);
      expect(verdict(felt)).toEqual(UNHARMED);
      const { type, note } = await eventOf(namespace, cluster.ref.name, "HandedOver");
      expect(type).toBe("Normal");
      expect(note).toMatch(/handed over to v\d+-\d-\d before its pod goes, writes waited \d+ ms/);
    },
    CASE_MS,
  );

  // A Node of a cluster that somebody has is not ours to drain.
  test.skipIf(WITHOUT_LAB)(
    "those that a drain evicts from a Node",
    async () => {
      const { node } = await cluster.primary(0);
      const there = (await cluster.healthy()).filter((one) => one.node === node);
      const felt = await whileWriting(cluster.ref, async () => {
        try {
          const which = ["--pod-selector", `valkey.io/cr=${cluster.ref.name}`, "--delete-emptydir-data"];
          await kubectl(["drain", node, ...which, "--timeout=180s"]);
          for (const member of there) if (member.role === "primary") await cluster.replaced(member);
        } finally {
          await kubectl(["uncordon", node]);
        }
        await cluster.healthy();
      });
      console.log(`${version}, drained: ${gapsText(felt)}`);
      expect(verdict(felt)).toEqual(UNHARMED);
      const now = new Set((await cluster.members()).map(({ uid }) => uid));
      expect(there.filter(({ uid }) => now.has(uid))).toEqual([]);
    },
    CASE_MS,
  );

  test(
    "a primary and its replica at once: the shard is away, and back with every write",
    async () => {
      const both = (await cluster.healthy()).filter(({ shard }) => shard === 1);
      const { report } = await cluster.writing(async () => {
        await deletePods(...both);
        const gone = new Set(both.map(({ uid }) => uid));
        const renewed = async () => (await cluster.members()).every(({ uid }) => !gone.has(uid));
        await until("both are others", renewed, { timeoutMs: 180_000, everyMs: 200 });
        await cluster.healthy();
      });
      expect(report).toMatchObject({ lost: [], unread: 0, unacknowledged: 0 });
    },
    CASE_MS,
  );
});

test(
  "one without any replica says so, saves, and comes back with its data",
  async () => {
    const ref = { namespace, name: "alone" };
    // Snapshots only, and none that falls due by itself in the time of a test.
    const backup = { database: { enabled: true }, aof: { enabled: false } };
    await applyCluster(ref, { ...SPEC, masterCount: 3, replicasPerMaster: 0, backup });
    await clusterReady(ref, { timeoutMs: 180_000 });
    // A key of the first shard.
    expect(await cli(ref, "alone-0-0-0", "set", "bar", "kept")).toBe("OK");
    await kubectl(["delete", "pod", "-n", namespace, "alone-0-0-0"]);
    // A server that loads, or has not found the others yet, refuses.
    const answer = async () => {
      const text = await cli(ref, "alone-0-0-0", "get", "bar");
      return /^[A-Z]/.test(text) ? undefined : text;
    };
    expect(await until("the key is answered for", answer, { timeoutMs: 60_000 })).toBe("kept");
    const { type, note } = await eventOf(namespace, ref.name, "NotHandedOver");
    expect(type).toBe("Warning");
    expect(note).toContain("no replica has all its data");
  },
  CASE_MS,
);
