/** Two replicas of the operator in their image: the leader killed, stopped, frozen; the API server gone for a while. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { isKubeError } from "../../pkg/kube/kube-error.ts";
import { PODS, SECRETS } from "../../pkg/kube/resource.ts";
import * as faults from "../lab/faults.ts";
import type { Lab } from "../lab/lab.ts";
import { until } from "../lib/until.ts";
import { kubectl, onLab, theLab } from "./cluster.ts";
import { installOperator, OPERATOR_NAMESPACE } from "./install.ts";
import * as operator from "./operator.ts";

const NAMESPACE = `operator-leader-${crypto.randomUUID().slice(0, 6)}`;

function containerOf(pod: string): faults.ContainerRef {
  return { namespace: OPERATOR_NAMESPACE, pod, container: "operator" };
}

function msSince(began: number): number {
  return Math.round(performance.now() - began);
}

/** Until another process than that of the given term holds the Lease. */
async function nextLeader(term: operator.Holder): Promise<operator.Holder> {
  return until(
    "another one leads",
    async () => {
      const now = await operator.holder();
      return now !== undefined && now.identity !== term.identity ? now : undefined;
    },
    { everyMs: 20 },
  );
}

/** A count that does not grow any more: what an operator has written is seen by us before its answer is by it. */
async function atRest(pod: operator.OperatorPod, family: string): Promise<number> {
  let last = Number.NaN;
  return until(
    `${family} does not grow`,
    async () => {
      const before = last;
      last = await operator.metric(pod, family);
      return last === before ? last : undefined;
    },
    { everyMs: 1000 },
  );
}

async function leading(pod: operator.OperatorPod): Promise<boolean> {
  return (await operator.metric(pod, "leader_election_leading")) === 1;
}

describe.skipIf(!onLab)("two replicas of the operator", () => {
  let lab: Lab;

  beforeAll(async () => {
    const found = await theLab();
    if (found === undefined) throw new Error("no lab");
    lab = found;
    await installOperator();
    await kubectl(["create", "namespace", NAMESPACE]);
  }, 300_000);
  afterAll(async () => {
    await kubectl(["delete", "namespace", NAMESPACE, "--ignore-not-found", "--wait=false"]);
  });

  test("SIGTERM: the other leads and has reconciled a change within 3 s", async () => {
    const { leader, standby, term } = await operator.settledPair();
    const began = performance.now();
    // Not by kubectl, whose start would count.
    await operator.client.delete(PODS, { namespace: OPERATOR_NAMESPACE, name: leader.name });
    await operator.makeCA(NAMESPACE, "terminated");
    const next = await nextLeader(term);
    const led = msSince(began);
    await operator.makeCA(NAMESPACE, "after-terminated");
    await operator.caReady(NAMESPACE, "after-terminated");
    await operator.caReady(NAMESPACE, "terminated");
    const reconciled = msSince(began);
    console.log(
      `SIGTERM: the next one holds the Lease after ${led} ms, both changes are reconciled after ${reconciled} ms`,
    );
    expect(next.pod).toBe(standby.name);
    expect(next.token).toBeGreaterThan(term.token);
    expect(reconciled).toBeLessThan(3000);
    const event = await operator.eventOf(NAMESPACE, "after-terminated", "RootMade");
    expect(event.reportingInstance).toBe(standby.name);
  });

  test("kill -9: the other leads and has reconciled a change within 25 s", async () => {
    const { leader, standby, term } = await operator.settledPair();
    await faults.killContainer(lab, containerOf(leader.name));
    const began = performance.now();
    await operator.makeCA(NAMESPACE, "killed");
    const next = await nextLeader(term);
    const led = msSince(began);
    await operator.caReady(NAMESPACE, "killed");
    const reconciled = msSince(began);
    console.log(
      `kill -9: the next one holds the Lease after ${led} ms, the change is reconciled after ${reconciled} ms`,
    );
    // The killed one is back long before: in the same pod, with the same name, and no leader for that.
    expect(next.pod).toBe(standby.name);
    expect(next.token).toBeGreaterThan(term.token);
    expect(reconciled).toBeLessThan(25_000);
    expect((await operator.eventOf(NAMESPACE, "killed", "RootMade")).reportingInstance).toBe(standby.name);
    const back = await until("kubelet tells of the restart", async () => {
      const { standby: now } = await operator.settledPair();
      return now.restarts > leader.restarts && now;
    });
    expect(back).toMatchObject({ name: leader.name, restarts: leader.restarts + 1 });
  });

  /**
   * Both are frozen when the old one wakes up: it sees work that nobody else will do, and whatever is written then can
   * only be its own.
   */
  test("frozen until the other leads, and thawed: it commands nothing and waits as standby", async () => {
    const { leader: old, standby: next, term } = await operator.settledPair();
    await operator.makeCA(NAMESPACE, "thawed");
    await operator.caReady(NAMESPACE, "thawed");
    const seen = await operator.metric(old, "cache_frames_total");
    const written = await atRest(old, "kube_writes_total");
    const began = performance.now();
    const thawOld = await faults.freezeContainer(lab, containerOf(old.name));
    const newTerm = await nextLeader(term);
    expect(newTerm.pod).toBe(next.name);
    await until("the next one leads", () => leading(next), { everyMs: 20 });
    console.log(`frozen: the next one leads after ${msSince(began)} ms`);
    const thawNext = await faults.freezeContainer(lab, containerOf(next.name));
    try {
      // Quickly: the next one's Lease runs out while it is frozen.
      await operator.client.delete(SECRETS, { namespace: NAMESPACE, name: "thawed" });
      await operator.makeCA(NAMESPACE, "bait");
      await thawOld();
      // A Secret that is gone and a new object: two frames, each of which would make a leader write.
      await until(
        "the old one sees the work",
        async () => (await operator.metric(old, "cache_frames_total")) >= seen + 2,
      );
      await until("the old one knows that its term is over", async () => !(await leading(old)));
      expect(await operator.metric(old, "kube_writes_total")).toBe(written);
      expect(await operator.secretThere(NAMESPACE, "thawed")).toBe(false);
      expect(await operator.secretThere(NAMESPACE, "bait")).toBe(false);
      expect(await operator.caStatus(NAMESPACE, "bait")).toEqual({});
      expect((await operator.holder())?.identity).toBe(newTerm.identity);
    } finally {
      await thawOld();
      await thawNext();
    }
    for (const name of ["thawed", "bait"]) await operator.caReady(NAMESPACE, name);
    expect((await operator.eventOf(NAMESPACE, "bait", "RootMade")).reportingInstance).toBe(next.name);
    expect((await operator.holder())?.identity).toBe(newTerm.identity);
    await until("the old one says that it leads no more", async () => {
      const said = (await operator.logLines(old.name)).filter(({ term: of }) => of === term.token);
      return said.at(-1)?.["message"] === "leading no more";
    });
    expect((await operator.settledPair()).standby).toMatchObject({ name: old.name, restarts: old.restarts });
  });

  /** Objects made before the operator can have found its way back: whatever its caches miss stays undone. */
  async function survives(name: string, before: operator.Pair, outage: () => Promise<void>): Promise<void> {
    await operator.makeCA(NAMESPACE, `${name}-before`);
    await operator.caReady(NAMESPACE, `${name}-before`);
    await outage();
    const began = performance.now();
    const names = [...Array(10).keys()].map((index) => `${name}-${index}`);
    await Promise.all(names.map(async (one) => until(`${one} is made`, async () => made(one))));
    await kubectl(["delete", "secret", "-n", NAMESPACE, `${name}-before`]);
    for (const one of [...names, `${name}-before`]) await operator.caReady(NAMESPACE, one, { timeoutMs: 120_000 });
    console.log(`API server ${name}: all changes reconciled ${msSince(began)} ms after its return`);
    const after = await operator.settledPair();
    for (const pod of [after.leader, after.standby]) {
      expect(await operator.metric(pod, "cache_missed_total")).toBe(0);
    }
    const restarts = (pair: operator.Pair) =>
      Object.fromEntries([pair.leader, pair.standby].map((pod) => [pod.name, pod.restarts]));
    expect(restarts(after)).toEqual(restarts(before));
  }

  async function made(name: string): Promise<boolean> {
    await operator.makeCA(NAMESPACE, name).catch((error: unknown) => {
      if (!isKubeError(error, "already-exists")) throw error;
    });
    return true;
  }

  test("the API server restarted: nothing is missed, no replica restarts", async () => {
    const before = await operator.settledPair();
    await survives("restarted", before, () => faults.restartApiServer(lab));
  });

  test("the API server frozen until the term is over: the leader stops by itself, and one leads again", async () => {
    const before = await operator.settledPair();
    await survives("frozen", before, async () => {
      const began = performance.now();
      const thaw = await faults.freezeApiServer(lab);
      try {
        await until("the leader stops leading", async () => !(await leading(before.leader)), { everyMs: 20 });
        console.log(`API server frozen: the leader stopped after ${msSince(began)} ms`);
        expect(msSince(began)).toBeLessThan(15_000);
      } finally {
        await thaw();
      }
    });
    expect((await operator.settledPair()).term.token).toBeGreaterThan(before.term.token);
  });
});
