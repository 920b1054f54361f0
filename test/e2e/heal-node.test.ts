/** A machine goes or is out of reach, and so are operator and API server: the agents need none of them. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import * as faults from "../lab/faults.ts";
import { kill } from "../lab/host.ts";
import type { Lab } from "../lab/lab.ts";
import { harm } from "../lib/harm.ts";
import { cutOff, died, LEASE_MS, type Moment, moment, SHARDS, unexcused } from "../lib/losses.ts";
import { until } from "../lib/until.ts";
import type { Acknowledgement } from "../lib/witness/acknowledgement.ts";
import { missing } from "../lib/witness/kept.ts";
import { twoWriters } from "../lib/witness/two-writers.ts";
import { Witness } from "../lib/witness/witness.ts";
import { HealCluster, moreWrites, type Shape, shapes, shapeText } from "./heal-cluster.ts";
import * as heal from "./heal-lab.ts";
import { type Member, roleAt, witnessed } from "./heal-members.ts";

/** As in heal-crash: wider than the aims (4 s, 250 ms), and gossip with its node timeout of 5 s would break them. */
const SILENT_MS = 5000;
const CRASH_MS = 2500;
const CASE_MS = 480_000;

for (const shape of shapes({ version: "9.1", replicas: 1 }))
  describe.skipIf(heal.WITHOUT_LAB)(`heal without a machine, ${shapeText(shape)}:`, () => suite(shape));

function suite(shape: Shape): void {
  let lab: Lab;
  let cluster: HealCluster;
  beforeAll(async () => {
    lab = await heal.openHealLab();
    cluster = new HealCluster({ namespace: await heal.makeNamespace("heal-node"), name: "heal" }, shape);
    await cluster.make();
  }, heal.PREPARATION_MS);
  afterAll(() => heal.removeNamespace(cluster.ref.namespace), 300_000);

  test(
    "without operator and API server data is served, nobody is replaced, and who crashes is",
    async () => {
      const before = await cluster.healthy();
      const victim = await cluster.primary(1);
      const pids = await heal.serverProcesses(lab, cluster, victim.pod);
      const { report, value: killed } = await cluster.writing(async (client) => {
        const thaw = await heal.freezeOperators(lab);
        const bringBack = await faults.stopApiServer(lab);
        try {
          // Several leases long.
          for (let round = 0; round < 40; round += 1) await moreWrites(client);
          for (const { pod, ip, role } of before) expect(await answeredRole(pod, ip)).toBe(role);
          const killed = await moment(async () => {
            for (const pid of pids) kill(pid, "SIGKILL");
          });
          await until("its replica leads", async () => {
            const roles = await Promise.all(others(before, victim).map(({ ip }) => roleAt(ip)));
            return roles.some(({ role }) => role === "primary");
          });
          await moreWrites(client);
          return killed;
        } finally {
          await bringBack();
          await thaw();
        }
      });
      expect(unexcused(report, [died([1], killed, "crash")])).toEqual([]);
      expect(report.worstGapMs).toBeLessThan(CRASH_MS);
      const after = await cluster.healthy();
      expect(after.map(({ uid }) => uid)).toEqual(before.map(({ uid }) => uid));
    },
    CASE_MS,
  );

  test(
    "a primary that is cut off stops before another begins, and comes back as a replica",
    async () => {
      const primary = await heal.lonePrimary(cluster);
      const node = faults.nodeNamed(lab, primary.node);
      const servers = witnessed(await cluster.members(), SHARDS).filter(({ shard }) => shard === primary.shard);
      await using inside = Witness.on(node.name);
      await using outside = Witness.on(lab.control);
      await inside.watch(servers.filter(({ pod }) => pod === primary.pod));
      await outside.watch(servers.filter(({ pod }) => pod !== primary.pod));
      await until("writes were waited for", () => inside.acknowledged.filter(({ waited }) => waited).length > 10);
      const { report, value: cut } = await cluster.writing(async (client) => {
        let mend: faults.Heal = async () => {};
        const cut = await moment(async () => {
          mend = await faults.cutNode(lab, node);
        });
        try {
          await until("another takes writes", () => outside.acknowledged.length > 10);
          await moreWrites(client);
        } catch (error) {
          throw await withLogs(error);
        } finally {
          await mend();
        }
        return cut;
      });
      const back = (await cluster.healthy()).find(({ pod }) => pod === primary.pod);
      expect(back).toMatchObject({ role: "replica", uid: primary.uid });
      const [old, fresh] = [await inside.stop(), await outside.stop()];
      expect(harm("second writers", twoWriters([...old, ...fresh]))).toEqual([]);
      const fencedAt = Math.max(...old.map(({ answeredAt }) => answeredAt));
      expect(fencedAt - cut.done).toBeLessThan(LEASE_MS);
      expect(fencedAt).toBeLessThan(Math.min(...fresh.map(({ sentAt }) => sentAt)));
      expect(unexcused(report, [cutOff([primary.shard], cut, "cut")])).toEqual([]);
      expect(report.worstGapMs).toBeLessThan(SILENT_MS);
      const lost = await missing({ addresses: await cluster.addresses() }, old);
      tell({ fencedAt, gap: report.worstGapMs, lost, old, cut });
      expect(
        harm(
          "writes lost that all replicas had",
          lost.filter(({ waited }) => waited),
        ),
      ).toEqual([]);
      expect(lost.filter(({ answeredAt }) => answeredAt < cut.begun - 500)).toEqual([]);
    },
    CASE_MS,
  );

  async function withLogs(error: unknown): Promise<Error> {
    const logs = await cluster.agentLogs();
    return new Error(`${error instanceof Error ? error.message : String(error)}\n${logs}`, { cause: error });
  }

  function tell(seen: {
    readonly fencedAt: number;
    readonly gap: number;
    readonly old: readonly Acknowledgement[];
    readonly lost: readonly Acknowledgement[];
    readonly cut: Moment;
  }): void {
    const late = seen.old.filter(({ answeredAt }) => answeredAt > seen.cut.done).length;
    console.log(
      `${shapeText(shape)}: fenced ${seen.fencedAt - seen.cut.done} ms after the cut, worst gap ${seen.gap} ms; ` +
        `${late} writes acknowledged between cut and fence, ${seen.lost.length} writes lost`,
    );
  }

  test(
    "a machine whose power is cut is done without, and its pods come back as replicas",
    async () => {
      const primary = await heal.lonePrimary(cluster);
      const node = faults.nodeNamed(lab, primary.node);
      const { report, value: cut } = await cluster.writing(async (client) => {
        let powerOn: faults.Heal = async () => {};
        const cut = await moment(async () => {
          powerOn = await faults.powerCutNode(lab, node);
        });
        try {
          await until("another leads", async () => {
            const siblings = others(await cluster.members(), primary);
            return siblings.some(({ role }) => role === "primary");
          });
          await moreWrites(client);
        } catch (error) {
          throw await withLogs(error);
        } finally {
          await powerOn();
        }
        return cut;
      });
      expect(unexcused(report, [died([primary.shard], cut, "power cut")])).toEqual([]);
      expect(report.worstGapMs).toBeLessThan(SILENT_MS);
      const back = (await cluster.healthy()).find(({ pod }) => pod === primary.pod);
      expect(back?.role).toBe("replica");
    },
    CASE_MS,
  );
}

/** What the server says of itself, as soon as it answers. */
async function answeredRole(pod: string, ip: string): Promise<Member["role"]> {
  return until(`${pod} answers`, async () => {
    const { role } = await roleAt(ip);
    return role === "none" ? undefined : role;
  });
}

/** The others of its shard. */
function others(members: readonly Member[], { shard, pod }: Member): Member[] {
  return members.filter((one) => one.shard === shard && one.pod !== pod);
}
