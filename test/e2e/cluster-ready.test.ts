/** ValkeyClusters from apply to Ready, in both versions side by side, used as users use them. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Cluster } from "iovalkey";
import { CONFIG_MAPS, type LooseObject, PDBS, type Resource, SERVICES } from "../../pkg/kube/resource.ts";
import { SLOTS } from "../../pkg/plan/objects/slots.ts";
import { Connection } from "../lib/resp/connection.ts";
import { until } from "../lib/until.ts";
import { kubectl } from "./cluster.ts";
import {
  addressesOf,
  applyCluster,
  type ClusterRef,
  cli,
  clusterAt,
  clusterReady,
  holds,
  podsOf,
  VALKEY_CLUSTERS,
} from "./clusters.ts";
import { installOperator } from "./install.ts";
import { client, eventOf, operatorPods, settledPair } from "./operator.ts";

const namespace = `clusters-${crypto.randomUUID().slice(0, 6)}`;
const old: ClusterRef = { namespace, name: "old" };
const young: ClusterRef = { namespace, name: "young" };
const CREATION_MS = 180_000;

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
    // Ready comes first, and how far replicas are behind is told with every report.
    const status = await until("every replica is in sync", async () => {
      const now = (await clusterAt(ref)).status;
      const replicas = (now?.shards ?? []).flatMap((shard) => shard.replicas ?? []);
      const inSync = replicas.filter((one) => one.inSync === true && one.lagBytes === 0);
      return now?.readyPods === 6 && inSync.length === 3 ? now : undefined;
    });
    expect(status).toMatchObject({ phase: "Running", reason: "AllShardsHealthy", masterCount: 3, readyMasters: 3 });
    expect(status).toMatchObject({ pods: 6, readyPods: 6, slotsAssigned: SLOTS, holds: [], acl: { enabled: false } });
    expect(status.version).toStartWith(version);
    expect(status.shards?.map(({ slots }) => slots)).toEqual(["0-5461", "5462-10922", "10923-16383"]);
    for (const shard of status.shards ?? []) expect(shard.replicas).toMatchObject([{ inSync: true, lagBytes: 0 }]);
    const open = status.conditions?.find(({ type }) => type === "ACLSynced");
    expect(open?.message).toContain("the cluster is open: no password");
  });

  test("takes writes to every shard and reads them back", async () => {
    const pods = await podsOf(ref);
    const valkey = new Cluster(pods.map(({ status }) => ({ host: status.podIP, port: 6379 })));
    try {
      const keys = Array.from({ length: 60 }, (_, index) => `key-${index}`);
      await Promise.all(keys.map(async (key) => valkey.set(key, `${ref.name} ${key}`)));
      for (const key of keys) expect(await valkey.get(key)).toBe(`${ref.name} ${key}`);
    } finally {
      valkey.disconnect();
    }
  });

  test("knows its own nodes and no others", async () => {
    for (const { metadata } of await podsOf(ref)) {
      // A server that was not given a core for a while is suspected by others until it answers again.
      await until(`${metadata.name} knows six nodes and suspects none`, async () => {
        const lines = (await cli(ref, metadata.name, "CLUSTER", "NODES")).split("\n");
        expect(lines).toHaveLength(6);
        expect(lines.filter((line) => /[ ,]fail[?, ]/.test(line))).toEqual([]);
        return true;
      });
    }
  });

  test("told what a person wants to hear, once", async () => {
    for (const reason of ["Created", "Formed", "Ready"])
      expect((await eventOf(namespace, ref.name, reason)).type).toBe("Normal");
  });
});

test("kubectl wait sees that it is Ready", async () => {
  await kubectl(["wait", "-n", namespace, "--for=condition=Ready", "vc/old", "vc/young", "--timeout=60s"]);
});

test("a setting that the server takes is in force on every node within three seconds", async () => {
  const connections = await Promise.all(
    (await addressesOf(young)).map((at) => until(`${at.host} answers`, () => Connection.open({ at }))),
  );
  try {
    const body = { spec: { config: { "hash-max-listpack-entries": "77" } } };
    const began = Date.now();
    await client.patch(VALKEY_CLUSTERS, young, { type: "merge", body });
    // Asked over open connections: starting six kubectl would take a good part of the three seconds.
    const applied = async () => {
      const values = await Promise.all(
        connections.map((one) => one.call("CONFIG", "GET", "hash-max-listpack-entries")),
      );
      return values.every((value) => JSON.stringify(value).includes('"77"'));
    };
    await until("all nodes have it", applied, { everyMs: 50 });
    expect(Date.now() - began).toBeLessThan(3000);
  } finally {
    for (const connection of connections) connection.close();
  }
  await until("the status says so", async () => {
    const cluster = await clusterAt(young);
    return holds(cluster, "Ready") && cluster.status?.phase === "Running";
  });
});

interface Drift {
  readonly resource: Resource;
  readonly name: string;
  /** What a stranger tells kubectl. */
  readonly damage: readonly string[];
  /** The part of the object that has to be as it was. */
  readonly kept: (object: LooseObject) => unknown;
}

test("what a stranger changes or deletes of its objects is put back within five seconds and told", async () => {
  const drifts: readonly Drift[] = [
    {
      resource: SERVICES,
      name: "old",
      damage: ["delete", "svc", "old"],
      kept: ({ spec }) => JSON.stringify(spec).replaceAll(/\d+\.\d+\.\d+\.\d+/g, "an address"),
    },
    {
      resource: CONFIG_MAPS,
      name: "old-config",
      damage: ["patch", "cm", "old-config", "-p", '{"data":{"configuration.json":"{}"}}'],
      kept: ({ data }) => data,
    },
    {
      resource: PDBS,
      name: "old-0",
      damage: ["patch", "pdb", "old-0", "--type=merge", "-p", '{"spec":{"maxUnavailable":6}}'],
      kept: ({ spec }) => spec,
    },
  ];
  for (const { resource, name, damage, kept } of drifts) {
    const look = async () => {
      const found = await client.find(resource, { namespace, name });
      // What numbers a configuration grows; what it says is the same.
      return found && JSON.stringify(kept(found)).replace(/\\"sequence\\":\\"\d+\\"/, "");
    };
    const before = await look();
    await kubectl([...damage, "-n", namespace]);
    const back = async () => (await look()) === before;
    await until(`${resource.kind} is back`, back, { timeoutMs: 5000, everyMs: 50 });
  }
  expect((await eventOf(namespace, "old", "DriftRepaired")).type).toBe("Warning");
  await until("Drifted is shown", async () => holds(await clusterAt(old), "Drifted"), { timeoutMs: 60_000 });
});

test(
  "a leader that dies while a cluster comes up changes nothing about the end",
  async () => {
    const ref: ClusterRef = { namespace, name: "orphan" };
    const { leader } = await settledPair();
    await applyCluster(ref);
    await until("its pods are made", async () => (await podsOf(ref)).length > 0, { everyMs: 20 });
    await kubectl(["delete", "pod", "-n", "valkey-operator-system", leader.name, "--grace-period=0", "--force"]);
    await clusterReady(ref, { timeoutMs: CREATION_MS });
    await until("there are two operators again", async () => (await operatorPods()).length === 2);
  },
  60_000 + CREATION_MS,
);

/** Ready, and every pod another one than before. */
async function readyAgain(ref: ClusterRef, before: readonly string[]): Promise<void> {
  const replaced = async () => {
    const uids = (await podsOf(ref)).map(({ metadata }) => metadata.uid ?? "");
    if (uids.length !== 6 || uids.some((uid) => before.includes(uid))) return false;
    const cluster = await clusterAt(ref);
    // The status may still tell of the time before the operator has seen what happened.
    return holds(cluster, "Ready") && cluster.status?.slotsAssigned === SLOTS && cluster.status.readyPods === 6;
  };
  await until(`${ref.name} is Ready again`, replaced, { timeoutMs: CREATION_MS, everyMs: 200 });
}

async function numbersOf(ref: ClusterRef): Promise<number> {
  const pods = await podsOf(ref);
  const valkey = new Cluster(pods.map(({ status }) => ({ host: status.podIP, port: 6379 })));
  try {
    const values = await Promise.all(Array.from({ length: 60 }, async (_, index) => valkey.get(`key-${index}`)));
    return values.filter((value) => value !== null).length;
  } finally {
    valkey.disconnect();
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
    expect(await until("all keys are answered for", () => numbersOf(young))).toBe(60);
  },
  60_000 + CREATION_MS,
);

test(
  "a cluster that loses all pods at once, and with them all data, becomes whole again",
  async () => {
    const before = (await podsOf(old)).map(({ metadata }) => metadata.uid ?? "");
    await kubectl(["delete", "pod", "-n", namespace, "-l", "valkey.io/cr=old", "--grace-period=0", "--force"]);
    await readyAgain(old, before);
  },
  60_000 + CREATION_MS,
);
