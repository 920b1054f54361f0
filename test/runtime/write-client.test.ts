/**
 * The write client against real clusters: what it says of a quiet deployment, of a planned and of an unplanned change
 * of primary, and that it notices what it is there to notice.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { VALKEY_VERSIONS } from "../lab/valkey.ts";
import { until } from "../lib/until.ts";
import { ValkeyCluster } from "../lib/valkey-cluster.ts";
import type { ValkeyServer } from "../lib/valkey-server.ts";
import { FRONT_ENDS, type FrontEndName } from "../lib/write-client/front-end.ts";
import type { Report } from "../lib/write-client/report.ts";
import { WriteClient } from "../lib/write-client/write-client.ts";

const PREPARATION_MS = 300_000;

/** Writes for a while, lets the event happen, writes on until it is over and for a while after it. */
async function during(cluster: ValkeyCluster, frontEnd: FrontEndName, event: () => Promise<void>): Promise<Report> {
  await using client = await WriteClient.start({ addresses: cluster.addresses, frontEnd });
  const moreWrites = async (count: number) => {
    const goal = client.acknowledged + count;
    await until(`${count} more writes`, () => client.acknowledged >= goal);
  };
  await moreWrites(200);
  await event();
  await moreWrites(300);
  return await client.stop();
}

async function roles(cluster: ValkeyCluster, index: number): Promise<{ primary: ValkeyServer; replica: ValkeyServer }> {
  const { primary: first, replicas } = cluster.shard(index);
  const [second] = replicas;
  if (second === undefined) throw new Error(`shard ${index} has no replica`);
  const role = await first.send("ROLE");
  const firstLeads = Array.isArray(role) && role[0] === "master";
  return firstLeads ? { primary: first, replica: second } : { primary: second, replica: first };
}

for (const version of VALKEY_VERSIONS) {
  describe(`the write client on Valkey ${version}, three shards with a replica each`, () => {
    let cluster: ValkeyCluster;
    beforeAll(async () => {
      cluster = await ValkeyCluster.start({ version, primaries: 3, replicas: 1 });
    }, PREPARATION_MS);
    afterAll(() => cluster[Symbol.asyncDispose]());

    for (const frontEnd of FRONT_ENDS) {
      test(`${frontEnd}: without any event every write is acknowledged and the worst gap is noise`, async () => {
        // Somebody else's burst on a shared machine is not ours to answer for: the best of three runs is the measure.
        const gaps: number[] = [];
        for (let run = 0; run < 3 && !gaps.some((gap) => gap < 100); run++) {
          const report = await during(cluster, frontEnd, async () => {});
          expect(report).toMatchObject({ errors: {}, events: {}, lost: [], unread: 0, unacknowledged: 0 });
          expect(report.shards.map(({ slots }) => slots).toSorted()).toEqual(["0-5460", "10922-16383", "5461-10921"]);
          gaps.push(report.worstGapMs);
        }
        expect(Math.min(...gaps)).toBeLessThan(100);
      }, 30_000);

      test(`${frontEnd}: a planned failover costs a short gap of one shard, no error and no write`, async () => {
        const { replica } = await roles(cluster, 0);
        const report = await during(cluster, frontEnd, async () => {
          await replica.send("CLUSTER", "FAILOVER");
          await until("the replica leads", async () => (await roles(cluster, 0)).primary === replica);
        });
        expect(report).toMatchObject({ errors: {}, lost: [], unread: 0, unacknowledged: 0 });
        expect(report.worstGapMs).toBeLessThan(1500);
      }, 30_000);

      test(`${frontEnd}: a killed primary and a forced failover cost a gap of that shard, and the client comes through`, async () => {
        const { primary, replica } = await roles(cluster, 1);
        const report = await during(cluster, frontEnd, async () => {
          await primary.kill();
          await replica.send("CLUSTER", "FAILOVER", "FORCE");
        });
        expect(report).toMatchObject({ unread: 0, unacknowledged: 0 });
        expect(report.worstGapMs).toBeLessThan(3000);
        // Replication is asynchronous: what the primary had not sent yet when it died may be gone, no more than that.
        expect(report.lost.length).toBeLessThan(20);
        await primary.launch();
        await until("the old primary follows", async () => {
          const role = await primary.send("ROLE");
          return Array.isArray(role) && role[0] === "slave" && role[3] === "connected";
        });
      }, 40_000);
    }

    test("acknowledged writes that are gone at the end are reported by key", async () => {
      const { primary } = await roles(cluster, 2);
      const report = await during(cluster, "prober", async () => {
        await primary.send("FLUSHALL", "SYNC");
      });
      expect(report.lost.length).toBeGreaterThan(20);
      expect(report.lost.every((key) => key.startsWith("wc:"))).toBe(true);
      expect(report.lost.length).toBeLessThan(report.acknowledged);
    }, 30_000);

    test("prober: the gap of a frozen primary that is replaced ends with its replacement", async () => {
      const { primary, replica } = await roles(cluster, 0);
      const report = await during(cluster, "prober", async () => {
        process.kill(primary.pid, "SIGSTOP");
        await replica.send("CLUSTER", "FAILOVER", "FORCE");
        await until("the replica leads", async () => String(await replica.send("ROLE")).startsWith("master"));
      });
      process.kill(primary.pid, "SIGCONT");
      expect(report).toMatchObject({ unread: 0, unacknowledged: 0 });
      expect(report.worstGapMs).toBeLessThan(1500);
      await until("the old primary follows", async () => String(await primary.send("ROLE")).startsWith("slave"));
    }, 30_000);

    test("a frozen primary is a gap for as long as nobody replaces it, and none of it is hidden", async () => {
      const { primary } = await roles(cluster, 2);
      const report = await during(cluster, "prober", async () => {
        process.kill(primary.pid, "SIGSTOP");
        await Bun.sleep(600);
        process.kill(primary.pid, "SIGCONT");
      });
      const frozen = report.shards.find(({ slots }) => slots === "10922-16383");
      expect(frozen?.worstGapMs).toBeGreaterThan(550);
      // Writes fell due all the while: those that waited show in the latencies, not only the one that was on its way.
      expect(report.latencyMs.max).toBeGreaterThan(500);
      expect(report.latencyMs.p99).toBeGreaterThan(300);
      expect(report).toMatchObject({ lost: [], unacknowledged: 0 });
    }, 30_000);

    test("prober: writes to slots that are on the move follow the ASK redirections and are found again", async () => {
      const { primary: from } = await roles(cluster, 1);
      const { primary: to } = await roles(cluster, 0);
      await from.send("FLUSHALL", "SYNC");
      await openSlots({ from, to, slots: Array.from({ length: 500 }, (_, index) => 5461 + index) });
      const report = await during(cluster, "prober", async () => {});
      expect(report.events["ASK"]).toBeGreaterThan(2);
      expect(report).toMatchObject({ errors: {}, lost: [], unread: 0, unacknowledged: 0 });
    }, 30_000);
  });
}

/** Marks the slots as migrating from one to the other, as the classic way of moving slots begins. */
async function openSlots(move: { from: ValkeyServer; to: ValkeyServer; slots: readonly number[] }): Promise<void> {
  const sides = [
    { server: move.to, state: "IMPORTING", peer: move.from },
    { server: move.from, state: "MIGRATING", peer: move.to },
  ];
  for (const { server, state, peer } of sides) {
    const id = String(await peer.send("CLUSTER", "MYID"));
    const connection = await server.connect();
    await Promise.all(move.slots.map((slot) => connection.call("CLUSTER", "SETSLOT", String(slot), state, id)));
    connection.close();
  }
}
