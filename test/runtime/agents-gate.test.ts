/** The gate with real agents and servers: whatever dies in whatever order, no copy is overwritten by an older one. */
import { expect, test } from "bun:test";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Role, ServerPhase } from "../../pkg/rpc/gen/valkey/agent/v1/state_pb.ts";
import { VALKEY_VERSIONS } from "../lab/valkey.ts";
import type { AgentPod } from "../lib/agent-pod.ts";
import { AgentWorld } from "../lib/agent-world.ts";
import { until } from "../lib/until.ts";

const SNAPSHOTS = [["save", "3600 1"]] as const;
const KEYS = 50;

async function write(pod: AgentPod, word: string): Promise<void> {
  for (let key = 0; key < KEYS; key += 1) await pod.send("SET", `${word}-${key}`, word);
}

async function has(pod: AgentPod, word: string): Promise<boolean> {
  return (await pod.send("GET", `${word}-${KEYS - 1}`).catch(() => null)) === word;
}

/** A replica answers for its keys only when it is asked to. */
async function replicaHas(pod: AgentPod, word: string): Promise<void> {
  await until(`${pod.at.name} has ${word}`, async () => (await pod.countKeys()) >= KEYS && (await pod.hasKey(word)));
}

const leads = (pod: AgentPod) =>
  pod.reaches("leads", ({ cluster, server }) => cluster?.role === Role.PRIMARY && server?.ready === true);

const isGated = (pod: AgentPod) =>
  pod.reaches(
    "waits at the gate",
    ({ server }) => server?.phase === ServerPhase.GATED && server.waitsFor !== "not decided yet",
  );

const isReplica = (pod: AgentPod) =>
  pod.reaches("is a replica in sync", ({ cluster, replication }) => {
    return cluster?.role === Role.REPLICA && replication?.inSync === true;
  });

test("a primary that lost its disk comes back as a replica of the one that has the data", async () => {
  await using world = await AgentWorld.start({ version: "9.1", shards: 1, replicas: 1, settings: SNAPSHOTS });
  await world.form();
  const [primary, replica] = [world.pod(0, 0), world.pod(0, 1)];
  await write(primary, "kept");
  await replicaHas(replica, "kept");
  await primary.killServer({ restart: false });
  await primary.loseDisk();
  await primary.startServer();
  await leads(replica);
  await primary.runs();
  expect(await has(replica, "kept")).toBe(true);
  const [id, leader] = [await primary.state(), await replica.state()];
  await world.meet();
  const request = { nodeId: id.cluster?.nodeId ?? "", primaryId: leader.cluster?.nodeId ?? "" };
  await world.agent(primary).follow(request, { timeoutMs: 10_000 });
  await isReplica(primary);
  await replicaHas(primary, "kept");
}, 30_000);

test("all pods at once come back with their data, the replica after its primary", async () => {
  await using world = await AgentWorld.start({ version: "9.1", shards: 1, replicas: 1, settings: SNAPSHOTS });
  await world.form();
  const [primary, replica] = [world.pod(0, 0), world.pod(0, 1)];
  await write(primary, "all");
  await replicaHas(replica, "all");
  await Promise.all(world.pods.map((pod) => pod.stopServer()));
  await Promise.all(world.pods.map((pod) => pod.stopAgent()));
  await replica.start();
  const waiting = await isGated(replica);
  expect(waiting.server?.waitsFor).toBe("waits for the word of cart-0-0");
  expect(waiting.disk).toMatchObject({ hasData: true, primary: false });
  await primary.start();
  await primary.ready();
  expect(await has(primary, "all")).toBe(true);
  await isReplica(replica);
  await replicaHas(replica, "all");
}, 30_000);

test("an older copy waits for the newer one, which was promoted while it was away", async () => {
  await using world = await AgentWorld.start({ version: "9.1", shards: 1, replicas: 1, settings: SNAPSHOTS });
  await world.form();
  const [first, second] = [world.pod(0, 0), world.pod(0, 1)];
  await write(first, "old");
  await first.send("SAVE");
  await write(first, "middle");
  await replicaHas(second, "middle");
  await first.killServer({ restart: false });
  await leads(second);
  await write(second, "new");
  await second.stopServer();
  await Promise.all(world.pods.map((pod) => pod.stopAgent()));
  await first.start();
  expect((await isGated(first)).server?.waitsFor).toBe("waits for the word of cart-0-1");
  await second.startAgent();
  await first.reaches("waits for the newer copy", ({ server }) => {
    return server?.waitsFor === "cart-0-1 has a newer copy and leads";
  });
  await second.startServer();
  await second.ready();
  await isReplica(first);
  await replicaHas(first, "new");
  expect(await has(second, "new")).toBe(true);
}, 30_000);

test.each(VALKEY_VERSIONS)(
  "%s: an old primary that comes back beside a new one takes no write before it follows it",
  async (version) => {
    await using world = await AgentWorld.start({ version, shards: 1, replicas: 1, settings: SNAPSHOTS });
    await world.form();
    const [old, young] = [world.pod(0, 0), world.pod(0, 1)];
    await write(old, "first");
    await old.send("SAVE");
    await write(old, "before");
    await replicaHas(young, "before");
    await old.killServer({ restart: false });
    await leads(young);
    await write(young, "after");
    let accepted = 0;
    let tries = 0;
    const done = new AbortController();
    await old.startServer();
    const writer = (async () => {
      while (!done.signal.aborted) {
        const reply = await old.send("SET", "stolen", "write").catch(() => undefined);
        tries += 1;
        if (reply === "OK") accepted += 1;
        await Bun.sleep(2);
      }
    })();
    await isReplica(old);
    done.abort();
    await writer;
    expect(tries).toBeGreaterThan(0);
    expect(accepted).toBe(0);
    await replicaHas(old, "after");
    expect(await young.send("CONFIG", "GET", "min-replicas-to-write")).toEqual(["min-replicas-to-write", "0"]);
  },
  30_000,
);
test("a lost member does not keep its shard from beginning, and none that was not heard of is passed over", async () => {
  await using world = await AgentWorld.start({ version: "9.1", shards: 1, replicas: 2 });
  const [first, second] = [world.pod(0, 0), world.pod(0, 1)];
  await Promise.all([first.start(), second.start()]);
  await first.reaches("waits for the third", ({ server }) => server?.waitsFor === "waits for the word of cart-0-2");
  const sightings = [{ node: "cart-0-2", lost: true }];
  await Promise.all([first, second].map((pod) => world.agent(pod).configure({ sightings })));
  await Promise.all([first.runs(), second.runs()]);
});

test("slots are not given out while a member that may have data is not heard of", async () => {
  await using world = await AgentWorld.start({ version: "9.1", shards: 1, replicas: 1 });
  await world.form();
  const [primary, replica] = [world.pod(0, 0), world.pod(0, 1)];
  await primary.killServer({ restart: false });
  await primary.stopAgent();
  const { cluster } = await replica.state();
  const own = { nodeId: cluster?.nodeId ?? "", slots: [world.slotsOf(0)], configEpoch: 9n };
  expect(await world.agent(replica).own(own).catch(String)).toContain("cart-0-0 is neither heard of");
}, 20_000);

test("a shard that has lost every copy begins anew, although agents remember leases of later epochs", async () => {
  await using world = await AgentWorld.start({ version: "9.1", shards: 1, replicas: 1, settings: SNAPSHOTS });
  await world.form();
  const [first, second] = [world.pod(0, 0), world.pod(0, 1)];
  await first.killServer();
  await leads(second);
  await isReplica(first);
  expect(Number((await first.state()).leaseEpoch)).toBeGreaterThan(1);
  await Promise.all(world.pods.map((pod) => pod.killServer({ restart: false })));
  await Promise.all(world.pods.map((pod) => pod.loseDisk()));
  await Promise.all(world.pods.map((pod) => pod.startServer()));
  await Promise.all(world.pods.map((pod) => pod.runs()));
  await world.formRunning();
}, 30_000);

test("three shards whose pods are all killed at once come back by themselves", async () => {
  await using world = await AgentWorld.start({ version: "9.1", shards: 3, replicas: 1, settings: SNAPSHOTS });
  await world.form();
  const primaries = world.pods.filter(({ at }) => at.member === 0);
  for (const pod of primaries) await pod.writeOwnKeys("shard", KEYS);
  await Promise.all(primaries.map(async (pod) => pod.send("SAVE")));
  await Promise.all(world.pods.map((pod) => pod.killServer()));
  await Promise.all(world.pods.map((pod) => pod.ready()));
  for (const pod of world.pods)
    await until(`${pod.at.name} has its keys`, async () => (await pod.countKeys()) === KEYS);
  for (const pod of primaries) expect((await pod.state()).cluster?.role).toBe(Role.PRIMARY);
}, 30_000);

test("with append-only files all pods come back, whichever was seen further, and follow each other", async () => {
  const settings = [
    ["appendonly", "yes"],
    ["appendfsync", "always"],
  ] as const;
  await using world = await AgentWorld.start({ version: "9.1", shards: 1, replicas: 1, settings });
  await world.form();
  const [first, second] = [world.pod(0, 0), world.pod(0, 1)];
  await write(first, "one");
  await replicaHas(second, "one");
  // Long enough for its agent to have noted how far the server is; then it leads in an epoch of its own.
  await first.killServer({ restart: false });
  await leads(second);
  await write(second, "two");
  await first.startServer();
  await isReplica(first);
  for (let round = 0; round < 2; round += 1) {
    await Promise.all(world.pods.map((pod) => pod.stopServer()));
    await Promise.all(world.pods.map((pod) => pod.stopAgent()));
    await Promise.all(world.pods.map((pod) => pod.start()));
    await Promise.all(world.pods.map((pod) => pod.ready()));
    for (const pod of world.pods) for (const word of ["one", "two"]) await replicaHas(pod, word);
  }
}, 60_000);

test.each([...VALKEY_VERSIONS])(
  "a server of %s whose table has a replica outside of its primary's shard starts all the same",
  async (version) => {
    await using world = await AgentWorld.start({ version, shards: 1, replicas: 1, settings: SNAPSHOTS });
    await world.form();
    const [primary, replica] = [world.pod(0, 0), world.pod(0, 1)];
    await leads(primary);
    await replica.killServer({ restart: false });
    // What 8.1 writes by itself now and then: the shard that a replica was alone in before it followed.
    const path = join(replica.folders.data, "nodes.conf");
    const lines = (await readFile(path, "utf8")).split("\n");
    const own = lines.filter((line) => line.includes("myself,slave"));
    const others = lines.filter((line) => line !== "" && !own.includes(line) && !line.startsWith("vars"));
    const moved = own.map((line) => line.replace(/shard-id=[0-9a-f]{40}/, `shard-id=${"0".repeat(40)}`));
    expect(moved).not.toEqual(own);
    await writeFile(path, [...others, ...moved, ...lines.filter((line) => line.startsWith("vars")), ""].join("\n"));
    await replica.startServer();
    await isReplica(replica);
    expect(replica.output).not.toContain("corrupted cluster config file");
  },
  60_000,
);
