/**
 * Every core is taken by somebody else, and nobody is fenced or replaced for that. It lasts a minute;
 * HEAL_LOAD_MINUTES=10 makes it as long as is promised.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { availableParallelism } from "node:os";
import { until } from "../lib/until.ts";
import { HealCluster } from "./heal-cluster.ts";
import * as heal from "./heal-lab.ts";

const MINUTES = Number(process.env["HEAL_LOAD_MINUTES"] ?? "1");
const RATE = 150;
/** Two for each core: every other program gets what it needs a little late, and no more than half of what there is. */
const BUSY = availableParallelism() * 2;
/** A pause of the machine. Who loses the lease has been without it for longer, and refuses writes. */
const NO_FAILOVER_MS = 1500;
const LOAD_MS = (MINUTES + 1) * 90_000;

describe.skipIf(heal.WITHOUT_LAB)("heal under load:", () => {
  let cluster: HealCluster;
  beforeAll(async () => {
    await heal.openHealLab();
    const ref = { namespace: await heal.makeNamespace("heal-load"), name: "heal" };
    cluster = new HealCluster(ref, { version: "9.1", replicas: 1 });
    await cluster.make();
  }, heal.PREPARATION_MS);
  afterAll(() => heal.removeNamespace(cluster.ref.namespace), 300_000);

  test(
    "nobody is fenced or replaced while others take every core",
    async () => {
      const before = await cluster.healthy();
      const busy = Array.from({ length: BUSY }, () => Bun.spawn(["sh", "-c", "while :; do :; done"]));
      try {
        const { report } = await cluster.writing(
          (client) => {
            const goal = RATE * 60 * MINUTES;
            const enough = () => client.acknowledged >= goal;
            return until(`${goal} writes`, enough, { timeoutMs: LOAD_MS, everyMs: 200 });
          },
          { rate: RATE },
        );
        console.log(`${MINUTES} min of load: worst gap ${report.worstGapMs} ms, ${JSON.stringify(report.errors)}`);
        expect(report).toMatchObject({ lost: [], unread: 0, unacknowledged: 0 });
        // What a server without its lease answers.
        expect(Object.keys(report.errors).filter((kind) => kind.includes("NOREPLICAS"))).toEqual([]);
        expect(report.worstGapMs).toBeLessThan(NO_FAILOVER_MS);
      } finally {
        for (const child of busy) child.kill("SIGKILL");
      }
      const roles = (members: typeof before) => members.map(({ uid, role }) => `${uid} ${role}`);
      expect(roles(await cluster.healthy())).toEqual(roles(before));
      for (const { pod } of before) expect(await heal.restartsOf(cluster, pod)).toEqual({ agent: 0, valkey: 0 });
    },
    LOAD_MS + 300_000,
  );
});
