import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { VALKEY_VERSIONS } from "../../../test/lab/valkey.ts";
import { until } from "../../../test/lib/until.ts";
import { ValkeyServer } from "../../../test/lib/valkey-server.ts";
import { type DiskNames, readDisk } from "./disk.ts";

const RDB: DiskNames = { wanted: "snapshot", dbfilename: "dump.rdb", appenddirname: "appendonlydir" };
const AOF: DiskNames = { ...RDB, wanted: "append-only" };

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "disk-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test("an empty folder brings nothing", async () => {
  const disk = await readDisk(folder, RDB);
  expect(disk).toEqual({
    hasData: false,
    epoch: 0n,
    offset: 0n,
    nodeId: "",
    primary: false,
    mode: "snapshot",
    stream: "",
    owners: [],
    trouble: undefined,
  });
  expect(await readDisk(join(folder, "none"), AOF)).toEqual({ ...disk, mode: "append-only" });
});

describe.each(VALKEY_VERSIONS)("what a server of %s leaves behind", (version) => {
  test("a snapshot tells whether it has keys and how far it is", async () => {
    await using primary = await ValkeyServer.start({ version });
    await using replica = await ValkeyServer.start({ version });
    await save(primary);
    expect(await readDisk(primary.dir, RDB)).toMatchObject({ hasData: false });
    await replica.send("REPLICAOF", "127.0.0.1", String(primary.address.port));
    await until("the replica in sync", async () =>
      String(await replica.send("INFO", "replication")).includes("status:up"),
    );
    for (let key = 0; key < 20; key += 1) await primary.send("SET", `key-${key}`, "x".repeat(100));
    const offset = /master_repl_offset:(\d+)/.exec(String(await primary.send("INFO", "replication")))?.[1];
    await save(primary);
    const disk = await readDisk(primary.dir, RDB);
    expect(disk).toMatchObject({ hasData: true, trouble: undefined });
    expect(disk.offset).toBeGreaterThanOrEqual(BigInt(offset ?? -1));
    await primary.send("FLUSHALL");
    await save(primary);
    expect(await readDisk(primary.dir, RDB)).toMatchObject({ hasData: false });
  });

  test("functions count as data", async () => {
    await using server = await ValkeyServer.start({ version });
    const code = "#!lua name=lib\nserver.register_function('f', function() return 1 end)";
    await server.send("FUNCTION", "LOAD", code);
    await save(server);
    expect(await readDisk(server.dir, RDB)).toMatchObject({ hasData: true });
  });

  test("an append-only file goes before a snapshot, and a snapshot alone is told", async () => {
    await using server = await ValkeyServer.start({ version });
    await server.send("SET", "key", "value");
    await save(server);
    expect(await readDisk(server.dir, AOF)).toMatchObject({ hasData: true, mode: "snapshot" });
    await server.send("FLUSHALL");
    await server.send("CONFIG", "SET", "appendonly", "yes");
    await until("the append-only file", async () => {
      return String(await server.send("INFO", "persistence")).includes("aof_rewrite_in_progress:0");
    });
    await until("a file without data", async () => !(await readDisk(server.dir, AOF)).hasData);
    await server.send("SET", "key", "value");
    expect(await readDisk(server.dir, AOF)).toMatchObject({ hasData: true, mode: "append-only", offset: 0n });
  });

  test("the cluster table tells id, epoch and whether it was a primary with slots", async () => {
    await using server = await ValkeyServer.start({ version, config: [["cluster-enabled", "yes"]] });
    const id = String(await server.send("CLUSTER", "MYID"));
    expect(await readDisk(server.dir, RDB)).toMatchObject({ nodeId: id, epoch: 0n, primary: false });
    await server.send("CLUSTER", "SET-CONFIG-EPOCH", "7");
    await server.send("CLUSTER", "ADDSLOTSRANGE", "0", "100");
    await until("the saved table", async () => (await readDisk(server.dir, RDB)).primary);
    expect(await readDisk(server.dir, RDB)).toMatchObject({ nodeId: id, epoch: 7n });
  });
});

test("damaged files are told, and count as data that is not to be thrown away", async () => {
  const damaged = join(folder, "damaged");
  await mkdir(damaged);
  await writeFile(join(damaged, "dump.rdb"), "not a snapshot");
  const disk = await readDisk(damaged, RDB);
  expect(disk.hasData).toBe(true);
  expect(disk.trouble).toContain("dump.rdb is not a whole snapshot");
  await writeFile(join(damaged, "dump.rdb"), "");
  await writeFile(join(damaged, "nodes.conf"), "nonsense");
  expect((await readDisk(damaged, RDB)).trouble).toContain("nodes.conf cannot be read");
});

/** Refused while a child of the server writes for a replica. */
async function save(server: ValkeyServer): Promise<void> {
  await until("a snapshot", () => server.send("SAVE"));
}
