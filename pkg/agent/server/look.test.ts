import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { VALKEY_VERSIONS, type ValkeyVersion } from "../../../test/lab/valkey.ts";
import { until } from "../../../test/lib/until.ts";
import { ValkeyCluster } from "../../../test/lib/valkey-cluster.ts";
import { ValkeyServer } from "../../../test/lib/valkey-server.ts";
import { Role } from "../../rpc/gen/valkey/agent/v1/state_pb.ts";
import { ValkeyClient } from "../../valkey/client.ts";
import { readNodesConf } from "../../valkey/nodes-conf.ts";
import { isValkeyError } from "../../valkey/valkey-error.ts";
import { lookAt } from "./look.ts";

const soon = () => AbortSignal.timeout(5000);
const clientOf = (server: ValkeyServer) => new ValkeyClient({ at: server.address });

const clusters = new Map<string, ValkeyCluster>();
beforeAll(async () => {
  // On a busy machine nodes fall silent for longer than such a timeout; roles must not move by that.
  const config = [["cluster-replica-no-failover", "yes"]] as const;
  const start = async (version: ValkeyVersion) =>
    clusters.set(
      version,
      await ValkeyCluster.start({ version, primaries: 3, replicas: 1, nodeTimeoutMs: 1000, config }),
    );
  await Promise.all(VALKEY_VERSIONS.map(start));
});
afterAll(() => Promise.all([...clusters.values()].map((cluster) => cluster[Symbol.asyncDispose]())));

describe.each([...VALKEY_VERSIONS])("Valkey %s", (version) => {
  let cluster: ValkeyCluster;
  beforeAll(() => {
    const started = clusters.get(version);
    if (started === undefined) throw new Error("no cluster");
    cluster = started;
  });

  test("a primary: its slots, its replica, everybody it knows", async () => {
    const { primary } = cluster.shard(0);
    await primary.send("SET", "{06S}k", "v");
    const client = clientOf(primary);
    const look = await until("the replica has the write", async () => {
      const look = await lookAt(client, soon());
      return look.cluster?.ok === true && look.replication?.replicas[0]?.offset === look.replication?.offset
        ? look
        : undefined;
    });
    client.close();
    expect(look).toMatchObject({ loading: false, keys: 1n, maxMemoryBytes: 0n });
    expect(look.version).toStartWith(version);
    expect(look.runId).toHaveLength(40);
    expect(look.memoryBytes).toBeGreaterThan(0n);
    expect(look.cluster).toMatchObject({ ok: true, role: Role.PRIMARY, slotsAssigned: 16_384 });
    // Two that took the same epoch have settled it between themselves.
    expect(look.cluster?.configEpoch).toBeGreaterThan(0n);
    expect(look.cluster?.slots).toMatchObject([{ first: 0, last: 5460 }]);
    expect(look.cluster?.nodes).toHaveLength(5);
    expect(look.replication?.replicas).toMatchObject([{ ip: "127.0.0.1", online: true }]);
    const conf = await readNodesConf(join(primary.dir, "nodes.conf"));
    expect(conf?.myself.id).toBe(look.cluster?.nodeId ?? "");
    expect(conf?.others).toHaveLength(5);
    expect(conf?.myself.aux.get("shard-id")).toHaveLength(40);
  });

  test("a replica: in sync, of whom, and out of sync when its primary dies", async () => {
    const [replica] = cluster.shard(1).replicas;
    if (replica === undefined) throw new Error("no replica");
    const client = clientOf(replica);
    const primaryId = String(await cluster.shard(1).primary.send("CLUSTER", "MYID"));
    const before = await lookAt(client, soon());
    expect(before.cluster).toMatchObject({ role: Role.REPLICA, configEpoch: 2n, slots: [] });
    expect(before.replication).toMatchObject({ inSync: true, syncing: false, replicas: [] });
    await cluster.shard(1).primary.kill();
    const after = await until("the primary is held for failed, and nobody is connected to it", async () => {
      const look = await lookAt(client, soon());
      const primary = look.cluster?.nodes.find(({ id }) => id === primaryId);
      return primary?.failed === true && !primary.connected ? look : undefined;
    });
    client.close();
    expect(after.replication?.inSync).toBe(false);
    expect(after.cluster?.nodes.find(({ id }) => id === primaryId)).toMatchObject({
      connected: false,
      slots: [{ first: 5461, last: 10_921 }],
    });
  });

  test("a server that loads answers so, without a cluster that it cannot tell of", async () => {
    await using server = await ValkeyServer.start({
      version,
      config: [
        ["cluster-enabled", "yes"],
        ["enable-debug-command", "yes"],
        ["key-load-delay", "2000"],
        ["loading-process-events-interval-bytes", "1024"],
      ],
    });
    await server.send("CLUSTER", "ADDSLOTSRANGE", "0", "16383");
    await server.send("DEBUG", "POPULATE", "300", "key", "100");
    await server.send("SAVE");
    await server.kill();
    server.spawn();
    const client = clientOf(server);
    const look = await until("it loads", async () => lookAt(client, soon()), { everyMs: 5 });
    expect(look.loading).toBe(true);
    await until("it has loaded", async () => !(await lookAt(client, soon())).loading);
    expect((await lookAt(client, soon())).cluster?.slotsAssigned).toBe(16_384);
    client.close();
  });

  test("a server without a cluster has none; one that is gone is unreachable", async () => {
    await using server = await ValkeyServer.start({ version });
    const client = clientOf(server);
    expect((await lookAt(client, soon())).cluster).toBeUndefined();
    await server.kill();
    const error: unknown = await until("it is noticed", async () =>
      lookAt(client, soon()).then(
        () => undefined,
        (error: unknown) => error,
      ),
    );
    expect(isValkeyError(error, "unreachable", "closed")).toBe(true);
  });
});
