import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import * as fc from "fast-check";
import { command, ensureValkey, VALKEY_VERSIONS, type ValkeyVersion } from "../../../test/lab/valkey.ts";
import { makeAuthority, makeLeaf } from "../../../test/lib/pki.ts";
import { Program } from "../../../test/lib/program.ts";
import { Connection } from "../../../test/lib/resp/connection.ts";
import { until } from "../../../test/lib/until.ts";
import { freePort } from "../../../test/lib/valkey-server.ts";
import {
  type Configuration,
  ConfigurationSchema,
  type SecretMaterial,
  SecretMaterialSchema,
  type Wire,
} from "../../rpc/gen/valkey/agent/v1/configuration_pb.ts";
import type { AgentOptions } from "../agent-options.ts";
import { type AgentPaths, agentPaths } from "../agent-paths.ts";
import { passGate } from "../gate/fifo.ts";
import { gateText } from "../gate/gate-text.ts";
import { agentLogin, essentialsOf, writeNodeFiles, writeServerConf } from "../server-files.ts";
import { effectiveConfiguration, maxMemory } from "./effective.ts";
import { renderNodeConf, splitCiphers } from "./node-conf.ts";
import { confLine, quoted } from "./quote.ts";

const MIB = 1024n * 1024n;
/** Quotes, comments, line ends, escapes, control characters, other alphabets: all of it must come out as it went in. */
const HOSTILE = "a\"b\\c #d 'e'\nport 1\r\n\t\u0007\u001b ${x} \\x41 é 漢";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "node-conf-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

function configuration(settings: readonly (readonly [string, string])[], wire: WireInit = {}) {
  return create(ConfigurationSchema, {
    settings: settings.map(([name, value]) => ({ name, value })),
    members: [{ name: "c-0-0", announcedHost: "c-0-0-0.c-headless.n.svc" }],
    wire: { port: 6379, busPort: 16_379, ...wire },
  });
}

type WireInit = Omit<Partial<Wire>, "$typeName" | "$unknown">;

const facts = { node: "c-0-0", podIp: "10.1.2.3", memoryLimit: 0n };

function lineOf(config: Configuration, name: string): string | undefined {
  return config.settings.find((setting) => setting.name === name)?.value;
}

describe("the settings of a node", () => {
  test("a later one wins, each name stands once", () => {
    const { settings } = effectiveConfiguration(
      configuration([
        ["hz", "10"],
        ["maxclients", "5"],
        ["hz", "20"],
      ]),
      facts,
    );
    expect(settings.filter(({ name }) => name === "hz").map(({ value }) => value)).toEqual(["20"]);
  });

  test("maxmemory follows the limit of the container, with room beside the keys, unless it is set", () => {
    const limited = { ...facts, memoryLimit: 1000n * MIB };
    expect(lineOf(effectiveConfiguration(configuration([]), limited), "maxmemory")).toBe(String(750n * MIB));
    expect(lineOf(effectiveConfiguration(configuration([["maxmemory", "5mb"]]), limited), "maxmemory")).toBe("5mb");
    expect(lineOf(effectiveConfiguration(configuration([]), facts), "maxmemory")).toBeUndefined();
    expect(maxMemory(333n * MIB) % MIB).toBe(0n);
  });

  test("gossip promotes nobody, whatever the configuration says", () => {
    const config = effectiveConfiguration(configuration([["cluster-replica-no-failover", "no"]]), facts);
    expect(lineOf(config, "cluster-replica-no-failover")).toBe("yes");
  });

  test("what is essential is what decides where data is looked for and the place in the cluster", () => {
    const wanted = {
      configuration: configuration([
        ["hz", "x"],
        ["appendonly", "yes"],
      ]),
      secrets: create(SecretMaterialSchema),
    };
    const { settings } = essentialsOf(wanted).configuration;
    expect(settings.map(({ name }) => name)).toEqual(["appendonly"]);
  });
});

test("a number of clients that would make a server stand still is not written into the file it starts with", () => {
  const conf = (value: string) =>
    renderNodeConf({
      configuration: configuration([["maxclients", value]]),
      secrets: create(SecretMaterialSchema),
      paths: agentPaths({ run: "/run/valkey", data: "/data", mounts: "/etc/valkey-agent" }),
    });
  expect(conf("1000000")).toContain("maxclients");
  expect(conf("1000001")).not.toContain("maxclients");
});

test("names that could smuggle in something else are refused", () => {
  for (const name of ["", "a b", "a\nport", "#x", "A", '"port']) expect(() => confLine(name, "x")).toThrow("setting");
});

test("ciphers of TLS 1.3 have a setting of their own", () => {
  expect(splitCiphers("ECDHE-A:TLS_AES_128,  ECDHE-B")).toEqual({ suites: "TLS_AES_128", ciphers: "ECDHE-A:ECDHE-B" });
});

test("a quoted value stays on its line", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (value) => {
      const line = quoted(value);
      expect(line).not.toMatch(/[\n\r]/);
      expect(line.replaceAll(/\\./g, "").slice(1, -1)).not.toContain('"');
    }),
  );
});

describe.each(VALKEY_VERSIONS)("a real server of %s", (version) => {
  test("starts from the rendered files and shows every value as it was meant", async () => {
    await using server = await RenderedServer.start(version, {
      settings: [
        ["save", "3600 1 300 100"],
        ["client-output-buffer-limit", "normal 0 0 0 replica 256mb 64mb 60"],
        ["notify-keyspace-events", ""],
        ["maxmemory-policy", "allkeys-lru"],
        ["cluster-announce-human-nodename", "shop"],
        ["latency-tracking-info-percentiles", "50 99"],
      ],
    });
    expect(await server.get("save")).toBe("3600 1 300 100");
    expect(await server.get("client-output-buffer-limit")).toContain("slave 268435456 67108864 60");
    expect(await server.get("notify-keyspace-events")).toBe("");
    expect(await server.get("maxmemory-policy")).toBe("allkeys-lru");
    expect(await server.get("latency-tracking-info-percentiles")).toBe("50 99");
    expect(await server.get("cluster-announce-ip")).toBe("10.1.2.3");
    expect(await server.get("cluster-announce-hostname")).toBe("c-0-0-0.c-headless.n.svc");
    expect(await server.get("cluster-replica-no-failover")).toBe("yes");
    expect(await server.get("dir")).toBe(server.paths.data);
    // Every server begins fenced.
    expect(await server.get("min-replicas-to-write")).toBe("1000000");
  });

  test("takes hostile values as values", async () => {
    const secrets = create(SecretMaterialSchema, {
      aclLines: ["user default on nopass ~* &* +@all", `user app on #${"ab".repeat(32)} ~* +@read`],
      replication: { username: "valkey-replication", password: HOSTILE },
    });
    await using server = await RenderedServer.start(version, { settings: [], secrets });
    expect(await server.get("primaryauth")).toBe(HOSTILE);
    expect(await server.get("primaryuser")).toBe("valkey-replication");
    const users = await server.call("ACL", "USERS");
    expect(users).toEqual(["app", "default", "valkey-agent"]);
  });

  test("speaks TLS on its port, and plain text beside it only when asked to", async () => {
    const authority = await makeAuthority({ name: "ca" });
    const leaf = await makeLeaf({ name: "server", issuer: authority, dns: ["localhost"], ip: ["127.0.0.1"] });
    const text = (pem: string) => new Uint8Array(Buffer.from(pem));
    const secrets = create(SecretMaterialSchema, {
      tlsCertificate: text(leaf.chainPem),
      tlsKey: text(leaf.keyPem),
      tlsAuthorities: text(authority.certPem),
    });
    const wire = {
      tls: true,
      tlsAuthClients: "optional",
      tlsReplication: true,
      tlsCluster: true,
      tlsProtocols: "TLSv1.3",
    };
    await using server = await RenderedServer.start(version, { settings: [], secrets, wire });
    expect(await server.get("port")).toBe("0");
    expect(await server.get("tls-cluster")).toBe("yes");
    const over = await Connection.open({
      at: { host: "127.0.0.1", port: server.port },
      tls: { ca: authority.certPem, servername: "localhost" },
    });
    expect(await over.call("PING")).toBe("PONG");
    over.close();
  });

  test("ends when the gate gives it nothing: an agent that dies opens nothing", async () => {
    const paths = await place(`empty-${version}`);
    const { root } = await ensureValkey(version);
    await using program = new Program([...command(root, "valkey-server"), paths.serverConf], { timeoutMs: 5000 });
    await until("the server at the gate", () => passGate(paths.gate, "", () => {}));
    const { out } = await program.ending();
    expect(out).toContain("not listen anywhere");
  });
});

test("refuses writes while it is fenced, also when lag does not count by its configuration", async () => {
  await using server = await RenderedServer.start("9.1", { settings: [["min-replicas-max-lag", "0"]] });
  await server.call("CLUSTER", "ADDSLOTSRANGE", "0", "16383");
  await until("a usable cluster", async () => String(await server.call("CLUSTER", "INFO")).includes("state:ok"));
  const refused = await server.call("SET", "k", "v").catch(String);
  expect(refused).toContain("NOREPLICAS");
  await server.call("CONFIG", "SET", "min-replicas-to-write", "0");
  expect(await server.call("SET", "k", "v")).toBe("OK");
});

async function place(name: string): Promise<AgentPaths> {
  const home = join(folder, name);
  const paths = agentPaths({ run: join(home, "run"), data: join(home, "data"), mounts: join(home, "mounts") });
  await mkdir(join(home, "run"), { recursive: true });
  await mkdir(paths.data);
  writeServerConf(paths);
  return paths;
}

interface Rendered {
  readonly settings: readonly (readonly [string, string])[];
  readonly secrets?: SecretMaterial;
  readonly wire?: WireInit;
}

/** Started as kubelet does and let in as an agent does. */
class RenderedServer implements AsyncDisposable {
  readonly paths: AgentPaths;
  readonly port: number;
  readonly #program: Program;
  readonly #connection: Connection;

  private constructor(at: { paths: AgentPaths; port: number }, program: Program, connection: Connection) {
    this.paths = at.paths;
    this.port = at.port;
    this.#program = program;
    this.#connection = connection;
  }

  static async start(version: ValkeyVersion, { settings, secrets, wire }: Rendered): Promise<RenderedServer> {
    const paths = await place(crypto.randomUUID().slice(0, 8));
    const port = await freePort();
    const { root } = await ensureValkey(version);
    const program = new Program([...command(root, "valkey-server"), paths.serverConf], { timeoutMs: 10_000 });
    const wanted = {
      configuration: effectiveConfiguration(
        configuration(settings, { port, busPort: await freePort(), ...wire }),
        facts,
      ),
      secrets: secrets ?? create(SecretMaterialSchema),
    };
    const login = agentLogin(paths);
    writeNodeFiles(wanted, optionsOf(paths), login);
    const text = gateText({ nodeConf: paths.nodeConf, mode: "snapshot" });
    await until("the server at the gate", () => passGate(paths.gate, text, () => {}));
    const users = secrets !== undefined && secrets.aclLines.length > 0;
    const connection = await until(
      "the server's socket",
      () => {
        return Connection.open({ at: { path: paths.serverSocket }, ...(users ? login : {}) });
      },
      { timeoutMs: 3000 },
    ).catch((error: unknown) => {
      throw new Error(`the server does not answer:\n${program.out}`, { cause: error });
    });
    return new RenderedServer({ paths, port }, program, connection);
  }

  call(...args: string[]) {
    return this.#connection.call(...args);
  }

  async get(name: string): Promise<string | undefined> {
    const reply = await this.call("CONFIG", "GET", name);
    return Array.isArray(reply) ? String(reply[1]) : undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#connection.close();
    await this.#program[Symbol.asyncDispose]();
  }
}

function optionsOf(paths: AgentPaths): AgentOptions {
  return {
    ...facts,
    pod: "c-0-0-0",
    namespace: "n",
    parentKind: "valkeycluster",
    parentName: "c",
    trustDomain: "valkey.local",
    operatorUrl: "https://localhost",
    operatorNamespace: "o",
    valkeyVersion: undefined,
    paths,
    listen: "127.0.0.1",
    rpcPort: 1,
    probePort: 2,
  };
}
