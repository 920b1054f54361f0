/**
 * How long a shard takes no write when its primary goes, ten times over, against a failover that is forced by hand in
 * the same moment. Both take turns on one machine.
 */
import { withNamespace } from "../e2e/cluster.ts";
import { HealCluster } from "../e2e/heal-cluster.ts";
import { lonePrimary, openHealLab } from "../e2e/heal-lab.ts";
import type { Member } from "../e2e/heal-members.ts";
import * as faults from "../lab/faults.ts";
import type { Lab } from "../lab/lab.ts";
import { type Measured, median, type Progress } from "./bench.ts";
import { ByHand, GAP_RATE, type Gap } from "./gap-by-hand.ts";

const ROUNDS = Number(process.env["BENCH_ROUNDS"] ?? 10);

export interface GapFault {
  readonly name: string;
  /** What the hand does to a bare server for the same effect. */
  readonly byHand: "SIGKILL" | "SIGSTOP";
  /** Chooses whom it happens to. */
  readonly victim: (cluster: HealCluster, round: number) => Promise<Member>;
  /** Does it, and gives the way back. */
  readonly strike: (lab: Lab, cluster: HealCluster, victim: Member) => Promise<faults.Heal>;
}

const inTurn = (cluster: HealCluster, round: number) => cluster.primary(round % 3);

export const CRASH: GapFault = {
  name: "crash",
  byHand: "SIGKILL",
  victim: inTurn,
  strike: async (lab, cluster, { pod }) => {
    await faults.killContainer(lab, cluster.container(pod, "valkey"));
    return async () => {};
  },
};

export const FREEZE: GapFault = {
  name: "freeze",
  byHand: "SIGSTOP",
  victim: inTurn,
  strike: (lab, cluster, { pod }) => faults.freezeContainer(lab, cluster.container(pod, "valkey")),
};

export const NODE_CUT: GapFault = {
  name: "node cut",
  byHand: "SIGSTOP",
  victim: lonePrimary,
  strike: (lab, _cluster, { node }) => faults.cutNode(lab, faults.nodeNamed(lab, node)),
};

export async function measureGaps(fault: GapFault, progress: Progress): Promise<Measured> {
  progress("installing the operator");
  const lab = await openHealLab();
  await using byHand = await ByHand.start(fault.byHand);
  // Awaited here, or the bare servers would be gone before the first round.
  return await withNamespace("bench-gap", async (namespace) => {
    const cluster = new HealCluster({ namespace, name: "gap" }, { version: "9.1", replicas: 1 });
    await cluster.make();
    const [ours, hand]: [Gap[], Gap[]] = [[], []];
    for (let round = 0; round < ROUNDS; round += 1) {
      hand.push(await byHand.round(round));
      ours.push(await gapOf(fault, { lab, cluster, round }));
      progress(`${fault.name} ${round + 1} of ${ROUNDS}: ${ours.at(-1)?.ms} ms, by hand ${hand.at(-1)?.ms} ms`);
    }
    return {
      value: median(ours.map(({ ms }) => ms)),
      unit: "ms",
      limit: median(hand.map(({ ms }) => ms)),
      lost: ours.reduce((sum, { lost }) => sum + lost, 0),
      errors: 0,
      runs: ours.map(({ ms, lost }, round) => ({ ms, lost, byHand: hand[round]?.ms ?? 0 })),
    };
  });
}

async function gapOf(
  fault: GapFault,
  { lab, cluster, round }: { readonly lab: Lab; readonly cluster: HealCluster; readonly round: number },
): Promise<Gap> {
  await cluster.healthy();
  const victim = await fault.victim(cluster, round);
  const { report } = await cluster.writing(
    async () => {
      const undo = await fault.strike(lab, cluster, victim);
      try {
        await cluster.replaced(victim);
      } finally {
        await undo();
      }
    },
    { rate: GAP_RATE },
  );
  await cluster.healthy();
  return { ms: report.worstGapMs, lost: report.lost.length };
}
