/**
 * Without an operator, for two minutes or as many as OPERATOR_AWAY_MINUTES says: clients are served all along, crashes and
 * deleted pods heal every now and then, and the operator's return changes nothing.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import * as faults from "../lab/faults.ts";
import type { Lab } from "../lab/lab.ts";
import { died, moment, SHARDS, unexcused } from "../lib/losses.ts";
import { until } from "../lib/until.ts";
import { kubectl } from "./cluster.ts";
import { HealCluster, moreWrites } from "./heal-cluster.ts";
import * as heal from "./heal-lab.ts";
import { rolledOut, scaleOperator } from "./install.ts";

const SHAPE = { version: "9.1", replicas: 1 } as const;
const MINUTES = Number(process.env["OPERATOR_AWAY_MINUTES"] ?? "2");
/** As in heal-crash: gossip with its node timeout of 5 s would break it. */
const CRASH_MS = 2500;
/** From one pair of faults to the next. */
const PAUSE_MS = 600_000;
const RATE = 60;

describe.skipIf(heal.WITHOUT_LAB)("heal without an operator:", () => {
  let lab: Lab;
  let cluster: HealCluster;
  beforeAll(async () => {
    lab = await heal.openHealLab();
    cluster = new HealCluster({ namespace: await heal.makeNamespace("heal-soak"), name: "heal" }, SHAPE);
    await cluster.make({ pvc: { storageSize: "64Mi" } });
  }, heal.PREPARATION_MS);
  afterAll(() => heal.removeNamespace(cluster.ref.namespace), 300_000);

  /** Every pod is there again and has a server with a role. */
  async function wholeAgain(withoutUid: string): Promise<void> {
    await until(
      "every pod runs again",
      async () => {
        const members = await cluster.members();
        // The deleted pod answers until it is gone, and is missing until its successor is made.
        const whole = members.length === SHARDS * (1 + SHAPE.replicas);
        const [followers, leaders] = [members.filter(({ following }) => following).length, SHARDS];
        const settled = followers + leaders === members.length;
        return whole && settled && members.every(({ ready, uid }) => ready && uid !== withoutUid);
      },
      { timeoutMs: 120_000, everyMs: 200 },
    );
  }

  test(
    `for ${MINUTES} minutes crashes and deleted pods heal, and its return changes nothing`,
    async () => {
      const end = performance.now() + MINUTES * 60_000;
      await scaleOperator(0);
      try {
        const { report, value: crashes } = await cluster.writing(
          async (client) => {
            const crashes = [];
            for (let turn = 0; turn === 0 || performance.now() < end; turn += 1) {
              const crashed = await cluster.primary(turn % SHARDS);
              const killed = await moment(() => faults.killContainer(lab, cluster.container(crashed.pod, "valkey")));
              await cluster.replaced(crashed);
              crashes.push(died([crashed.shard], killed, "crash"));
              const deleted = await cluster.primary((turn + 1) % SHARDS);
              await kubectl(["delete", "pod", "-n", cluster.ref.namespace, deleted.pod, "--wait=false"]);
              await cluster.replaced(deleted);
              await wholeAgain(deleted.uid);
              console.log(`turn ${turn}: ${client.acknowledged} writes acknowledged`);
              await Bun.sleep(Math.max(0, Math.min(PAUSE_MS, end - performance.now())));
              await moreWrites(client);
            }
            return crashes;
          },
          { rate: RATE },
        );
        expect(unexcused(report, crashes)).toEqual([]);
        expect(report).toMatchObject({ unread: 0, unacknowledged: 0 });
        expect(report.worstGapMs).toBeLessThan(CRASH_MS);
        console.log(`worst gap ${report.worstGapMs} ms, ${report.acknowledged} acknowledged, errors`, report.errors);
      } finally {
        await scaleOperator(2);
        await rolledOut();
      }
      const uids = (await cluster.members()).map(({ uid }) => uid);
      expect((await cluster.healthy()).map(({ uid }) => uid)).toEqual(uids);
    },
    heal.PREPARATION_MS + MINUTES * 60_000,
  );
});
