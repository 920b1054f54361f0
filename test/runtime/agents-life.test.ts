/** An agent through the life of its pod, with a real server: deaths, changes, and the end. */
import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { clone, create } from "@bufbuild/protobuf";
import { readMode } from "../../pkg/agent/gate/persistence.ts";
import { IdentitySchema } from "../../pkg/rpc/gen/valkey/agent/v1/agent_pb.ts";
import { ConfigurationSchema, SecretMaterialSchema } from "../../pkg/rpc/gen/valkey/agent/v1/configuration_pb.ts";
import { Role, ServerPhase } from "../../pkg/rpc/gen/valkey/agent/v1/state_pb.ts";
import { DIST } from "../../scripts/lib.ts";
import { command, ensureValkey } from "../lab/valkey.ts";
import type { AgentPod } from "../lib/agent-pod.ts";
import { AgentWorld } from "../lib/agent-world.ts";
import { Program } from "../lib/program.ts";
import { until } from "../lib/until.ts";

const SIDECAR = [join(DIST, "valkey-sidecar")];

async function single(settings: readonly (readonly [string, string])[] = []): Promise<[AgentWorld, AgentPod]> {
  const world = await AgentWorld.start({ version: "9.1", shards: 1, replicas: 0, settings });
  return [world, world.pod(0, 0)];
}

const phase = (pod: AgentPod, wanted: ServerPhase) =>
  pod.reaches(`phase ${wanted}`, ({ server }) => server?.phase === wanted);

describe("the server's death", () => {
  test("is told to the operator at once", async () => {
    const [world, pod] = await single();
    await using _ = world;
    await world.form();
    const killed = performance.now();
    await pod.killServer({ restart: false });
    await until("the report", () => world.reports.some(({ reason }) => reason === "ServerDied"), { everyMs: 1 });
    const tookMs = performance.now() - killed;
    expect(world.reports.at(-1)?.state?.server?.phase).toBe(ServerPhase.ABSENT);
    // A second is what a look at the process alone would take.
    expect(tookMs).toBeLessThan(500);
    expect((await pod.state()).disk).toMatchObject({ primary: true, epoch: 1n });
  });

  test("a connection that the server closes is not its death", async () => {
    const [world, pod] = await single();
    await using _ = world;
    await world.form();
    const { serverPid } = pod;
    await pod.send("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
    await until("the agent's connections again", async () => {
      return String(await pod.send("CLIENT", "LIST")).split("\n").length > 3;
    });
    expect(pod.serverPid).toBe(serverPid ?? 0);
    expect(world.reports.map(({ reason }) => reason)).not.toContain("ServerDied");
    expect((await pod.state()).server?.ready).toBe(true);
  });

  test("a server that stands still is killed: it could take writes when it goes on, and nobody would know", async () => {
    const [world, pod] = await single();
    await using _ = world;
    await world.form();
    const pid = pod.serverPid;
    pod.freezeServer();
    await until("another server", () => pod.serverPid !== undefined && pod.serverPid !== pid);
    await until("the report", () => world.reports.some(({ reason }) => reason === "ServerKilled"));
    await pod.ready();
  }, 20_000);
});

describe("an agent as a process", () => {
  test("that is killed is followed by one that takes the running server as it is", async () => {
    const [world, pod] = await single();
    await using _ = world;
    const first = pod.startAgentProcess(SIDECAR);
    await using __ = first;
    await until("the gate", () => existsSync(pod.options.paths.gate));
    await pod.startServer();
    await world.formRunning();
    await pod.send("SET", "key", "value");
    const { server } = await pod.state();
    first.signal("SIGKILL");
    await first.ending();
    await using second = pod.startAgentProcess(SIDECAR);
    const after = await pod.ready();
    expect(after.server?.runId).toBe(server?.runId ?? "");
    expect(await pod.send("GET", "key")).toBe("value");
    await pod.reaches("has its configuration applied", ({ applied }) => applied?.configurationHash === "first");
    expect(second.out).not.toContain("the gate is opened");
  }, 20_000);

  test("that is told to end stays until its server has ended, and then ends at once", async () => {
    const [world, pod] = await single();
    await using _ = world;
    await using agent = pod.startAgentProcess(SIDECAR);
    await until("the gate", () => existsSync(pod.options.paths.gate));
    await pod.startServer();
    await pod.runs();
    agent.signal("SIGTERM");
    await until("the signal is heard", () => agent.out.includes("shutdown begins"));
    expect((await pod.runs()).server?.phase).toBe(ServerPhase.RUNNING);
    await pod.stopServer();
    expect(await agent.ending()).toMatchObject({ code: 0 });
  }, 20_000);

  test("says what is wrong with its environment, and ends", async () => {
    const { code, out } = await Program.run([...SIDECAR, "run"], { env: { POD_IP: "nowhere" } });
    expect(code).toBe(1);
    expect(out).toContain("NODE_NAME");
    expect(out).toContain("POD_IP must be an IP address");
  });
});

describe("what is wanted", () => {
  test("is applied within three seconds; an older one changes nothing, also not after a restart of the agent", async () => {
    const [world, pod] = await single([["hz", "10"]]);
    await using _ = world;
    await world.form();
    const newer = clone(ConfigurationSchema, world.configuration);
    Object.assign(newer, { sequence: 5n, hash: "newer" });
    const hz = newer.settings.find(({ name }) => name === "hz");
    if (hz !== undefined) hz.value = "42";
    const began = performance.now();
    const { applied } = await world.agent(pod).configure({ configuration: newer });
    expect(performance.now() - began).toBeLessThan(3000);
    expect(applied?.configurationHash).toBe("newer");
    expect(await pod.send("CONFIG", "GET", "hz")).toEqual(["hz", "42"]);
    await world.agent(pod).configure({ configuration: world.configuration });
    await pod.stopAgent();
    await pod.startAgent();
    await pod.reaches("knows the newer one", ({ applied }) => applied?.configurationHash === "newer");
    await pod.killServer();
    await pod.reaches("has it applied again", ({ applied }) => applied?.configurationHash === "newer");
    expect(await pod.send("CONFIG", "GET", "hz")).toEqual(["hz", "42"]);
  }, 20_000);

  test("a setting that the server cannot start with is left out and named", async () => {
    const [world, pod] = await single([["maxmemory-policy", "no-such-policy"]]);
    await using _ = world;
    await pod.start();
    await pod.runs();
    const { applied } = await pod.reaches("refuses it", ({ applied }) => (applied?.refusals.length ?? 0) > 0);
    expect(applied?.refusals.map(({ name }) => name)).toEqual(["maxmemory-policy"]);
    expect(world.reports.map(({ reason }) => reason)).toContain("SettingsLeftOut");
    const mended = clone(ConfigurationSchema, world.configuration);
    Object.assign(mended, { sequence: 2n, hash: "mended" });
    for (const setting of mended.settings) if (setting.name === "maxmemory-policy") setting.value = "allkeys-lru";
    const { applied: after } = await world.agent(pod).configure({ configuration: mended });
    expect(after).toMatchObject({ configurationHash: "mended", refusals: [] });
  }, 20_000);

  test.each([
    { from: "no", to: "yes" },
    { from: "yes", to: "no" },
  ])(
    "data is not lost when appendonly is changed from $from to $to while the server is away",
    async ({ from, to }) => {
      const [world, pod] = await single([
        ["save", "3600 1000000"],
        ["appendonly", from],
      ]);
      await using _ = world;
      await world.form();
      await pod.send("SET", "key", "value");
      // As a snapshot, and as an append-only file: in both cases the other one has nothing.
      await (from === "no" ? pod.stopServer() : pod.killServer({ restart: false }));
      const changed = clone(ConfigurationSchema, world.configuration);
      Object.assign(changed, { sequence: 2n, hash: "changed" });
      for (const setting of changed.settings) if (setting.name === "appendonly") setting.value = to;
      await world.agent(pod).configure({ configuration: changed });
      expect((await phase(pod, ServerPhase.ABSENT)).disk?.hasData).toBe(true);
      await pod.startServer();
      await pod.reaches("has it applied", ({ applied }) => applied?.configurationHash === "changed");
      expect(await pod.send("CONFIG", "GET", "appendonly")).toEqual(["appendonly", to]);
      await until("the value", async () => (await pod.send("GET", "key")) === "value");
      const mode = to === "yes" ? "append-only" : "snapshot";
      await until("the note", () => readMode(pod.folders.data) === mode);
      await (to === "yes" ? pod.killServer() : pod.stopServer().then(() => pod.startServer()));
      await pod.runs();
      await until("the value again", async () => (await pod.send("GET", "key")) === "value");
    },
    20_000,
  );

  test("users are there from the first moment, and the agent among them", async () => {
    const hash = new Bun.CryptoHasher("sha256").update("secret").digest("hex");
    const aclLines = [`user default off`, `user app on #${hash} ~* &* +@all`];
    await using world = await AgentWorld.start({
      version: "8.1",
      shards: 1,
      replicas: 0,
      secrets: { aclLines },
    });
    const pod = world.pod(0, 0);
    await pod.start();
    await pod.reaches("has its users", ({ applied }) => applied?.secretsHash === "first");
    expect(await pod.send("PING").catch(String)).toContain("NOAUTH");
    const more = create(SecretMaterialSchema, {
      sequence: 2n,
      hash: "second",
      aclLines: [...aclLines, `user other on #${hash} ~* +@read`],
    });
    const { applied } = await world.agent(pod).configure({ secrets: more });
    expect(applied).toMatchObject({ secretsHash: "second", refusals: [] });
    // The password of the agent outlives it.
    await pod.stopAgent();
    await pod.startAgent();
    await pod.reaches("is still its master", ({ applied }) => applied?.secretsHash === "second");
  }, 20_000);
});

test("a pushed identity is used at once, and one of another node never", async () => {
  const [world, pod] = await single();
  await using _ = world;
  await pod.start();
  const before = (await pod.runs()).identityThumbprint;
  const pushed = async (name: string, sequence: bigint) => {
    const { certificate, key, authorities } = await world.identityOf(name);
    const bytes = (text: string) => new Uint8Array(Buffer.from(text));
    return create(IdentitySchema, {
      sequence,
      certificate: bytes(certificate),
      key: bytes(key),
      authorities: bytes(authorities),
    });
  };
  const refused = await world
    .agent(pod)
    .configure({ identity: await pushed("cart-0-7", 5n) })
    .catch(String);
  expect(refused).toContain("not of spiffe://valkey.local/ns/shop/valkeycluster/cart/node/cart-0-0");
  await world.agent(pod).configure({ identity: await pushed("cart-0-0", 5n) });
  const after = (await pod.state()).identityThumbprint;
  expect(after).not.toBe(before);
  await pod.stopAgent();
  await pod.startAgent();
  expect((await pod.state()).identityThumbprint).toBe(after);
});

test("a server that was told to end stays out, whoever restarts", async () => {
  const [world, pod] = await single([["save", "3600 1"]]);
  await using _ = world;
  await world.form();
  await pod.send("SET", "key", "value");
  await world.agent(pod).stop({ save: true }, { timeoutMs: 10_000 });
  await until("the server at its gate", () => pod.serverPid !== undefined);
  const { server, disk } = await phase(pod, ServerPhase.STOPPED);
  expect(server?.keys).toBe(1n);
  expect(disk?.hasData).toBe(true);
  await pod.stopAgent();
  await pod.startAgent();
  await phase(pod, ServerPhase.STOPPED);
  expect(world.reports.map(({ reason }) => reason)).toContain("ServerStopped");
}, 20_000);

test("the preStop hook reaches the agent with the server's own client", async () => {
  const [world, pod] = await single();
  await using _ = world;
  await pod.start();
  await pod.runs();
  for (const version of ["8.1", "9.1"] as const) {
    const { root } = await ensureValkey(version);
    const cli = [...command(root, "valkey-cli"), "-s", pod.options.paths.agentSocket];
    expect((await Program.run([...cli, "HANDOVER"])).out).toContain("nothing to hand over");
    expect((await Program.run([...cli, "PING"])).out).toBe("PONG\n");
    expect((await Program.run([...cli, "GET", "x"])).out).toContain("the agent knows PING and HANDOVER");
  }
  await until("the report", () => world.reports.some(({ reason }) => reason === "PodTerminating"));
});

test("a server that does not hear that its pod goes is told by its agent", async () => {
  const [world, pod] = await single();
  await using _ = world;
  await pod.start();
  await pod.runs();
  const { root } = await ensureValkey("9.1");
  await Program.run([...command(root, "valkey-cli"), "-s", pod.options.paths.agentSocket, "HANDOVER"]);
  await until("the server is told", () => pod.output.includes("Received SIGTERM"), { timeoutMs: 12_000 });
}, 30_000);

test("a replica stays ready when its primary dies, and leads", async () => {
  await using world = await AgentWorld.start({ version: "9.1", shards: 1, replicas: 1 });
  await world.form();
  const [primary, replica] = [world.pod(0, 0), world.pod(0, 1)];
  await primary.send("SET", "key", "value");
  await primary.killServer({ restart: false });
  const seen: (boolean | undefined)[] = [];
  await replica.reaches("leads", ({ server, cluster }) => {
    seen.push(server?.ready);
    return cluster?.role === Role.PRIMARY;
  });
  expect(seen).not.toContain(false);
}, 20_000);
