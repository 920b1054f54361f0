/** The write client with TLS, a user of its own, a deployment without cluster mode, and as a program. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT } from "../../scripts/lib.ts";
import { type Identity, makeAuthority, makeLeaf, writeIdentity } from "../lib/pki.ts";
import type { Credentials } from "../lib/resp/connection.ts";
import { until } from "../lib/until.ts";
import { ValkeyCluster } from "../lib/valkey-cluster.ts";
import { type ServerOptions, ValkeyServer } from "../lib/valkey-server.ts";
import { FRONT_ENDS } from "../lib/write-client/front-end.ts";
import type { Report } from "../lib/write-client/report.ts";
import { WriteClient } from "../lib/write-client/write-client.ts";

const PREPARATION_MS = 300_000;

describe("with mutual TLS and an ACL user", () => {
  let folder: string;
  let root: Identity;
  let client: Identity;
  let cluster: ValkeyCluster;
  let login: Credentials;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "write-client-"));
    root = await makeAuthority({ name: "root" });
    const server = await writeIdentity(
      folder,
      "server",
      await makeLeaf({ name: "s", issuer: root, ip: ["127.0.0.1"] }),
    );
    client = await makeLeaf({ name: "client", issuer: root, usage: ["client"] });
    await writeIdentity(folder, "client", client);
    await writeFile(join(folder, "ca.crt"), root.certPem);
    await writeFile(join(folder, "password"), "secret\n");
    const tls = { ca: root.certPem, cert: client.certPem, key: client.keyPem };
    login = { tls, username: "app", password: "secret" };
    const options: ServerOptions = {
      version: "9.1",
      tls: { ca: join(folder, "ca.crt"), ...server },
      acl: ["user default off", "user app on >secret ~* &* +@all", "user repl on >r +psync +replconf +ping"],
      credentials: login,
      config: [
        ["primaryuser", "repl"],
        ["primaryauth", "r"],
      ],
    };
    cluster = await ValkeyCluster.start({ ...options, primaries: 2, replicas: 1 });
  }, PREPARATION_MS);
  afterAll(async () => {
    await cluster[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  for (const frontEnd of FRONT_ENDS) {
    test(`${frontEnd} writes through a planned failover without losing anything`, async () => {
      await using writer = await WriteClient.start({ addresses: cluster.addresses, frontEnd, ...login });
      await until("some writes", () => writer.acknowledged > 100);
      const [replica] = cluster.shard(frontEnd === "prober" ? 0 : 1).replicas;
      await replica?.send("CLUSTER", "FAILOVER");
      await until("the replica leads", async () => String(await replica?.send("ROLE")).startsWith("master"));
      const goal = writer.acknowledged + 200;
      await until("more writes", () => writer.acknowledged > goal);
      const report = await writer.stop();
      expect(report).toMatchObject({ errors: {}, lost: [], unread: 0, unacknowledged: 0 });
      expect(report.shards).toHaveLength(2);
    }, 30_000);
  }

  test("a wrong password and a missing certificate are told, with the server's reason", async () => {
    const refusal = async (credentials: Credentials) => {
      const start = WriteClient.start({ addresses: cluster.addresses, frontEnd: "prober", ...credentials });
      return start.then(
        () => "none",
        (error: Error) => error.message,
      );
    };
    expect(await refusal({ ...login, password: "guess" })).toContain("WRONGPASS");
    expect(await refusal({ ...login, tls: { ca: root.certPem } })).toContain("no node said who owns what");
    expect(await refusal({ ...login, tls: { ca: client.certPem } })).toContain("certificate");
  });

  test("as a program it takes files, stops on SIGTERM and prints one line of JSON", async () => {
    const files = ["ca", "cert", "key"].flatMap((flag) => [
      `--${flag}`,
      join(folder, flag === "ca" ? "ca.crt" : `client.${flag === "cert" ? "crt" : "key"}`),
    ]);
    const user = ["--user", "app", "--password-file", join(folder, "password")];
    const addresses = cluster.addresses.map(({ host, port }) => `${host}:${port}`);
    const log = join(folder, "acknowledged.log");
    const flags = [...files, ...user, "--duration", "0", "--log", log, "--json", "--address", ...addresses];
    const child = Bun.spawn([process.execPath, "test/lib/write-client/main.ts", ...flags], {
      cwd: ROOT,
      stdout: "pipe",
      stderr: "pipe",
    });
    await until("acknowledgements in the log", async () => (await Bun.file(log).text()).split("\n").length > 50);
    child.kill("SIGTERM");
    const report = JSON.parse(await new Response(child.stdout).text()) as Report;
    expect(await child.exited).toBe(0);
    expect(report).toMatchObject({ frontEnd: "prober", errors: {}, lost: [], unread: 0 });
    expect((await Bun.file(log).text()).trim().split("\n")).toHaveLength(report.acknowledged);
  }, 30_000);
});

describe("without cluster mode", () => {
  let primary: ValkeyServer;
  let replica: ValkeyServer;
  beforeAll(async () => {
    primary = await ValkeyServer.start({ version: "8.1" });
    replica = await ValkeyServer.start({
      version: "8.1",
      config: [["replicaof", `127.0.0.1 ${primary.address.port}`]],
    });
    await until("the replica is in sync", async () => String(await replica.send("ROLE")).includes("connected"));
  }, PREPARATION_MS);
  afterAll(() => Promise.all([primary[Symbol.asyncDispose](), replica[Symbol.asyncDispose]()]));

  test("iovalkey writes to the one server", async () => {
    await using writer = await WriteClient.start({ addresses: [primary.address], frontEnd: "iovalkey" });
    await until("some writes", () => writer.acknowledged > 100);
    const report = await writer.stop();
    expect(report).toMatchObject({ errors: {}, lost: [], unread: 0, unacknowledged: 0 });
    expect(report.shards).toHaveLength(1);
  });

  test("the prober needs one address, finds the replica itself and follows a coordinated failover", async () => {
    await using writer = await WriteClient.start({ addresses: [primary.address], frontEnd: "prober" });
    await until("some writes", () => writer.acknowledged > 100);
    await primary.send("FAILOVER", "TO", "127.0.0.1", String(replica.address.port), "TIMEOUT", "5000");
    await until("the replica leads", async () => String(await replica.send("ROLE")).startsWith("master"));
    const goal = writer.acknowledged + 100;
    await until("more writes", () => writer.acknowledged > goal);
    const report = await writer.stop();
    expect(report).toMatchObject({ lost: [], unread: 0, unacknowledged: 0 });
    expect(Object.keys(report.errors).filter((kind) => !["READONLY", "closed", "timeout"].includes(kind))).toEqual([]);
    // The old primary holds its clients until the replica has everything: on a busy machine for a second or two.
    expect(report.worstGapMs).toBeLessThan(5000);
  }, 30_000);
});
