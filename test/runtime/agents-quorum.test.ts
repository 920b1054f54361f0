/** A shard is away as a whole, with real agents and servers: too few primaries are left to elect another one. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Role } from "../../pkg/rpc/gen/valkey/agent/v1/state_pb.ts";
import { VALKEY_VERSIONS } from "../lab/valkey.ts";
import type { AgentPod } from "../lib/agent-pod.ts";
import { AgentWorld } from "../lib/agent-world.ts";
import { until } from "../lib/until.ts";

const AWAY = 2;
/** More than elections take, on a busy machine too. */
const HEAL_MS = 30_000;

describe.each([...VALKEY_VERSIONS])("Valkey %s, beside a shard that is away", (version) => {
  let world: AgentWorld;
  beforeAll(async () => {
    world = await AgentWorld.start({ version, shards: 3, replicas: 1 });
    await world.form();
  }, 60_000);
  afterAll(async () => world[Symbol.asyncDispose]());

  /** What the operator says to those who are there. */
  async function say(stopped: readonly AgentPod[]): Promise<void> {
    const sightings = world.pods.map((pod) => {
      return { node: pod.at.name, ip: pod.at.host, lost: false, stopped: stopped.includes(pod) };
    });
    const there = world.pods.filter((pod) => !stopped.includes(pod));
    await Promise.all(there.map((pod) => world.agent(pod).configure({ sightings }, { timeoutMs: 10_000 })));
  }

  test("a replica takes over once the operator says that the servers there are stopped", async () => {
    const [first, second] = [world.pod(0, 0), world.pod(0, 1)];
    const gone = world.pods.filter(({ at }) => at.shard === AWAY);
    await first.writeOwnKeys("kept", 20);
    await until("its replica has all", async () => (await second.countKeys()) === 20);
    for (const pod of gone) {
      await pod.killServer({ restart: false });
      await pod.stopAgent();
    }
    await first.killServer();
    // Its replica has more than it saved, and asks for votes of which there are too few.
    await first.reaches("waits", ({ server }) => server?.waitsFor.includes(second.at.name) === true, HEAL_MS);
    await until("an election was begun", () => second.output.includes("Start of election"), { timeoutMs: HEAL_MS });
    expect((await second.state()).cluster?.role).toBe(Role.REPLICA);
    await say(gone);
    await second.reaches("leads", ({ cluster }) => cluster?.role === Role.PRIMARY, HEAL_MS);
    await first.reaches("follows", ({ replication }) => replication?.inSync === true, HEAL_MS);
    expect(await second.countKeys()).toBe(20);
    await second.writeOwnKeys("more", 5);
  }, 120_000);
});
