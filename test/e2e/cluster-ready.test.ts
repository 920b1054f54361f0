/** ValkeyClusters from apply to Ready, in both versions side by side, used as users use them. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Cluster } from "iovalkey";
import { SLOTS } from "../../pkg/plan/objects/slots.ts";
import { until } from "../lib/until.ts";
import { kubectl } from "./cluster.ts";
import { applyCluster, type ClusterRef, cli, clusterAt, clusterReady, holds, podsOf } from "./clusters.ts";
import { installOperator } from "./install.ts";
import { eventOf, operatorPods, settledPair } from "./operator.ts";

const namespace = `clusters-${crypto.randomUUID().slice(0, 6)}`;
const old: ClusterRef = { namespace, name: "old" };
const young: ClusterRef = { namespace, name: "young" };
const CREATION_MS = 150_000;

beforeAll(async () => {
  await installOperator();
  await kubectl(["create", "namespace", namespace]);
  await Promise.all([
    applyCluster(old, { valkeyImage: { name: "valkey/valkey", tag: "8.1" } }),
    applyCluster(young, {
      valkeyImage: { name: "valkey/valkey", tag: "9.1" },
      config: { "hash-max-listpack-entries": "128" },
    }),
  ]);
  await Promise.all([clusterReady(old, { timeoutMs: CREATION_MS }), clusterReady(young, { timeoutMs: CREATION_MS })]);
}, 180_000 + CREATION_MS);
afterAll(async () => void (await kubectl(["delete", "namespace", namespace, "--wait=false"])));

describe.each([
  ["8.1", old],
  ["9.1", young],
] as const)("a cluster of Valkey %s", (version, ref) => {
  test("says how it is", async () => {
    const { status } = await clusterAt(ref);
    expect(status).toMatchObject({ phase: "Running", reason: "AllShardsHealthy", masterCount: 3, readyMasters: 3 });
    expect(status).toMatchObject({ pods: 6, readyPods: 6, slotsAssigned: SLOTS, holds: [], acl: { enabled: false } });
    expect(status?.version).toStartWith(version);
    expect(status?.shards?.map(({ slots }) => slots)).toEqual(["0-5461", "5462-10922", "10923-16383"]);
    for (const shard of status?.shards ?? []) expect(shard.replicas).toMatchObject([{ inSync: true, lagBytes: 0 }]);
    const open = status?.conditions?.find(({ type }) => type === "ACLSynced");
    expect(open?.message).toContain("the cluster is open: no password");
  });

  test("takes writes to every shard and reads them back", async () => {
    const pods = await podsOf(ref);
    const client = new Cluster(pods.map(({ status }) => ({ host: status.podIP, port: 6379 })));
    try {
      const keys = Array.from({ length: 60 }, (_, index) => `key-${index}`);
      await Promise.all(keys.map(async (key) => client.set(key, `${ref.name} ${key}`)));
      for (const key of keys) expect(await client.get(key)).toBe(`${ref.name} ${key}`);
    } finally {
      client.disconnect();
    }
  });

  test("knows its own nodes and no others", async () => {
    for (const { metadata } of await podsOf(ref)) {
      const lines = (await cli(ref, metadata.name, "CLUSTER", "NODES")).split("\n");
      expect(lines).toHaveLength(6);
      expect(lines.filter((line) => /[ ,]fail[?, ]/.test(line))).toEqual([]);
    }
  });

  test("told what a person wants to hear, once", async () => {
    for (const reason of ["Created", "Formed", "Ready"])
      expect((await eventOf(namespace, ref.name, reason)).type).toBe("Normal");
  });
});

test("kubectl wait sees that it is Ready", async () => {
  await kubectl(["wait", "-n", namespace, "--for=condition=Ready", "vc/old", "vc/young", "--timeout=5s"]);
});

test("a setting that the server takes is in force on every node within three seconds", async () => {
  const pods = await podsOf(young);
  const began = Date.now();
  await kubectl([
    "patch",
    "vc",
    "-n",
    namespace,
    "young",
    "--type=merge",
    "-p",
    '{"spec":{"config":{"hash-max-listpack-entries":"77"}}}',
  ]);
  const applied = async () => {
    const values = await Promise.all(
      pods.map(async ({ metadata }) => cli(young, metadata.name, "CONFIG", "GET", "hash-max-listpack-entries")),
    );
    return values.every((value) => value.endsWith("77"));
  };
  await until("all nodes have it", applied, { timeoutMs: 10_000, everyMs: 100 });
  expect(Date.now() - began).toBeLessThan(3000);
  const state = await until("the status says so", async () => {
    const cluster = await clusterAt(young);
    return holds(cluster, "Ready") && cluster;
  });
  expect(state.status?.phase).toBe("Running");
});

test("what a stranger changes or deletes of its objects is put back within five seconds and told", async () => {
  const drifts: readonly (readonly [what: string, damage: readonly string[], right: readonly [string, string]])[] = [
    ["Service", ["delete", "svc", "old"], ["svc/old", "jsonpath={.spec.clusterIP}"]],
    [
      "ConfigMap",
      ["patch", "cm", "old-config", "-p", '{"data":{"configuration.json":"{}"}}'],
      ["cm/old-config", "jsonpath={.data.configuration\\.json}"],
    ],
    [
      "PodDisruptionBudget",
      ["patch", "pdb", "old-0", "--type=merge", "-p", '{"spec":{"maxUnavailable":6}}'],
      ["pdb/old-0", "jsonpath={.spec.maxUnavailable}"],
    ],
  ];
  for (const [what, damage, [object, path]] of drifts) {
    const look = async () => kubectl(["get", "-n", namespace, "--ignore-not-found", object, "-o", path]);
    const before = (await look()).replace(/^\d+\.\d+\.\d+\.\d+$/, "an address");
    await kubectl([...damage, "-n", namespace]);
    const back = async () => {
      const now = (await look()).replace(/^\d+\.\d+\.\d+\.\d+$/, "an address");
      // What numbers a configuration grows; what it says is the same.
      return now.replace(/"sequence":"\d+"/, "") === before.replace(/"sequence":"\d+"/, "");
    };
    await until(`${what} is back`, back, { timeoutMs: 5000, everyMs: 50 });
  }
  expect((await eventOf(namespace, "old", "DriftRepaired")).type).toBe("Warning");
  await until("Drifted is shown", async () => holds(await clusterAt(old), "Drifted"), { timeoutMs: 5000 });
});

test(
  "a leader that dies while a cluster comes up changes nothing about the end",
  async () => {
    const ref: ClusterRef = { namespace, name: "orphan" };
    const { leader } = await settledPair();
    await applyCluster(ref);
    await until("its pods are made", async () => (await podsOf(ref)).length > 0, { timeoutMs: 30_000, everyMs: 20 });
    await kubectl(["delete", "pod", "-n", "valkey-operator-system", leader.name, "--grace-period=0", "--force"]);
    await clusterReady(ref, { timeoutMs: CREATION_MS });
    expect(await operatorPods()).toHaveLength(2);
  },
  60_000 + CREATION_MS,
);

/** Ready, and every pod another one than before. */
async function readyAgain(ref: ClusterRef, before: readonly string[]): Promise<void> {
  const replaced = async () => {
    const uids = (await podsOf(ref)).map(({ metadata }) => metadata.uid ?? "");
    return uids.length === 6 && uids.every((uid) => !before.includes(uid)) && holds(await clusterAt(ref), "Ready");
  };
  await until(`${ref.name} is Ready again`, replaced, { timeoutMs: CREATION_MS, everyMs: 200 });
}

async function numbersOf(ref: ClusterRef): Promise<number> {
  const pods = await podsOf(ref);
  const client = new Cluster(pods.map(({ status }) => ({ host: status.podIP, port: 6379 })));
  try {
    const values = await Promise.all(Array.from({ length: 60 }, async (_, index) => client.get(`key-${index}`)));
    return values.filter((value) => value !== null).length;
  } finally {
    client.disconnect();
  }
}

test(
  "a primary whose pod goes with its data leaves the shard to its replica, with all keys",
  async () => {
    const primary = (await clusterAt(young)).status?.shards?.[0]?.primary ?? "";
    const [victim] = (await podsOf(young)).filter(({ metadata }) => metadata.name === `${primary}-0`);
    await kubectl(["delete", "pod", "-n", namespace, `${primary}-0`, "--grace-period=0", "--force"]);
    const healed = async () => {
      const pods = await podsOf(young);
      const gone = pods.length === 6 && pods.every(({ metadata }) => metadata.uid !== victim?.metadata.uid);
      const cluster = await clusterAt(young);
      return gone && holds(cluster, "Ready") && cluster.status?.shards?.[0]?.primary !== primary;
    };
    await until("another leads and all is well", healed, { timeoutMs: CREATION_MS, everyMs: 200 });
    expect(await numbersOf(young)).toBe(60);
  },
  60_000 + CREATION_MS,
);

test(
  "a cluster that loses all pods at once, and with them all data, becomes whole again",
  async () => {
    const before = (await podsOf(old)).map(({ metadata }) => metadata.uid ?? "");
    await kubectl(["delete", "pod", "-n", namespace, "-l", "valkey.io/cr=old", "--grace-period=0", "--force"]);
    await readyAgain(old, before);
    expect((await clusterAt(old)).status?.slotsAssigned).toBe(SLOTS);
  },
  60_000 + CREATION_MS,
);
