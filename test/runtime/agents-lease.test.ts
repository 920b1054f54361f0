/** The write lease with real agents and servers: who may write when something dies, hangs or goes. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { HandoverResult } from "../../pkg/rpc/gen/valkey/agent/v1/agent_pb.ts";
import { Role } from "../../pkg/rpc/gen/valkey/agent/v1/state_pb.ts";
import { VALKEY_VERSIONS } from "../lab/valkey.ts";
import type { AgentPod } from "../lib/agent-pod.ts";
import { AgentWorld } from "../lib/agent-world.ts";
import { until } from "../lib/until.ts";
import type { FrontEndName } from "../lib/write-client/front-end.ts";
import type { Report } from "../lib/write-client/report.ts";
import { WriteClient } from "../lib/write-client/write-client.ts";

const leads = (pod: AgentPod) => pod.reaches("leads", ({ cluster }) => cluster?.role === Role.PRIMARY);
const follows = (pod: AgentPod) =>
  pod.reaches("follows in sync", ({ cluster, replication, server }) => {
    return cluster?.role === Role.REPLICA && replication?.inSync === true && server?.ready === true;
  });

/** By gossip alone a failover takes a node timeout of 5 s and more; noise of a busy machine stays well below this. */
const WITHOUT_GOSSIP_MS = 2000;

/** Writes for a while, lets the event happen, and writes on after it. */
async function during(world: AgentWorld, frontEnd: FrontEndName, event: () => Promise<void>): Promise<Report> {
  const addresses = world.pods.map(({ at }) => ({ host: at.host, port: 6379 }));
  await using client = await WriteClient.start({ addresses, frontEnd });
  const moreWrites = async (count: number) => {
    const goal = client.acknowledged + count;
    await until(`${count} more writes`, () => client.acknowledged >= goal);
  };
  await moreWrites(100);
  await event();
  await moreWrites(200);
  return client.stop();
}

function told(what: string, { worstGapMs, errors, lost }: Report): void {
  console.log(`${what}: worst gap ${Math.round(worstGapMs)} ms, errors ${JSON.stringify(errors)}, lost ${lost.length}`);
}

describe.each([...VALKEY_VERSIONS])("Valkey %s", (version) => {
  let world: AgentWorld;
  beforeAll(async () => {
    const settings = [["cluster-node-timeout", "5000"]] as const;
    world = await AgentWorld.start({ version, shards: 3, replicas: 1, settings });
    await world.form();
  }, 60_000);
  afterAll(async () => world[Symbol.asyncDispose]());

  test("a primary that is killed is replaced at once, and comes back as a replica", async () => {
    const [first, second] = [world.pod(0, 0), world.pod(0, 1)];
    await follows(second);
    const report = await during(world, "prober", async () => {
      await first.killServer();
      await leads(second);
    });
    told(`${version} killed`, report);
    await follows(first);
    expect(report.lost).toEqual([]);
    expect(report.worstGapMs).toBeLessThan(WITHOUT_GOSSIP_MS);
  });

  test("a handover keeps writes waiting, and clients see no error", async () => {
    const [first, second] = [world.pod(1, 0), world.pod(1, 1)];
    await follows(second);
    const { cluster } = await first.state();
    const report = await during(world, "iovalkey", async () => {
      const request = { nodeId: cluster?.nodeId ?? "", successor: second.at.name };
      const answer = await world.agent(first).handover(request, { timeoutMs: 15_000 });
      console.log(`${version}: ${answer.message}, writes waited for ${answer.writesWaitedMs} ms`);
      expect(answer).toMatchObject({ result: HandoverResult.HANDED_OVER, successor: second.at.name });
    });
    told(`${version} handover`, report);
    expect(report.errors).toEqual({});
    expect(report.lost).toEqual([]);
    expect(report.worstGapMs).toBeLessThan(WITHOUT_GOSSIP_MS);
    await follows(first);
  });

  test("a handover that cannot be is refused with the reason, and the primary leads on", async () => {
    const [replica, primary] = [world.pod(1, 0), world.pod(1, 1)];
    const handover = async (pod: AgentPod, successor: string) => {
      const { cluster } = await pod.state();
      return world.agent(pod).handover({ nodeId: cluster?.nodeId ?? "", successor }, { timeoutMs: 15_000 });
    };
    expect((await handover(primary, "cart-2-1")).result).toBe(HandoverResult.NO_REPLICA_IN_SYNC);
    expect((await handover(replica, "")).result).toBe(HandoverResult.NOT_PRIMARY);
    await leads(primary);
  });

  test("a server that stands still is killed and replaced", async () => {
    const [first, second] = [world.pod(2, 0), world.pod(2, 1)];
    await follows(second);
    const report = await during(world, "prober", async () => {
      first.freezeServer();
      await leads(second);
    });
    told(`${version} frozen`, report);
    await follows(first);
    expect(report.lost).toEqual([]);
    expect(report.worstGapMs).toBeLessThan(2 * WITHOUT_GOSSIP_MS);
  });

  test("an agent that dies and comes back leaves its server alone", async () => {
    const [primary, replica] = [world.pod(0, 1), world.pod(0, 0)];
    const report = await during(world, "prober", async () => {
      await primary.stopAgent();
      await primary.startAgent();
      await leads(primary);
    });
    told(`${version} agent restarted`, report);
    expect(report.lost).toEqual([]);
    expect((await replica.state()).cluster?.role).toBe(Role.REPLICA);
  });

  test("a primary without its lease lets writes wait for a moment, and refuses them when it lasts", async () => {
    const primary = world.pod(0, 1);
    await leads(primary);
    const others = world.pods.filter((pod) => pod !== primary);
    const stopped = () => world.reports.filter(({ reason }) => reason === "WritesStopped").length;
    /** Nobody is left who could grant anything. */
    const loseLease = async () => {
      const before = stopped();
      await Promise.all(others.map((pod) => pod.stopAgent()));
      await until("the primary takes no writes", () => stopped() > before);
    };
    const report = await during(world, "iovalkey", async () => {
      await loseLease();
      await Promise.all(others.map((pod) => pod.startAgent()));
    });
    told(`${version} without voters for a moment`, report);
    expect(report.errors).toEqual({});
    expect(report.lost).toEqual([]);
    // A key of the first shard.
    const answer = async () => String(await primary.send("SET", "{bar}", "written").catch((error: unknown) => error));
    await loseLease();
    await until("writes are refused", async () => (await answer()).includes("NOREPLICAS"));
    await Promise.all(others.map((pod) => pod.startAgent()));
    await until("writes are taken again", async () => (await answer()) === "OK");
  });
});
