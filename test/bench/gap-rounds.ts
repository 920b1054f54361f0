/**
 * How long a shard takes no write when its primary goes, ten times over, against a failover that is forced by hand in
 * the same moment. Both take turns on one machine.
 */
import { withNamespace } from "../e2e/cluster.ts";
import { HealCluster, moreWrites } from "../e2e/heal-cluster.ts";
import { lonePrimary, openHealLab } from "../e2e/heal-lab.ts";
import type { Member } from "../e2e/heal-members.ts";
import * as faults from "../lab/faults.ts";
import type { Lab } from "../lab/lab.ts";
import { WriteClient } from "../lib/write-client/write-client.ts";
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
    const [ours, hand]: [OurGap[], Gap[]] = [[], []];
    for (let round = 0; round < ROUNDS; round += 1) {
      hand.push(await byHand.round(round));
      ours.push(await gapOf(fault, { lab, cluster, round }));
      const { ms, iovalkey } = ours.at(-1) ?? {};
      progress(
        `${fault.name} ${round + 1} of ${ROUNDS}: ${ms} ms, with iovalkey ${iovalkey} ms, by hand ${hand.at(-1)?.ms} ms`,
      );
    }
    return {
      value: median(ours.map(({ ms }) => ms)),
      unit: "ms",
      limit: median(hand.map(({ ms }) => ms)),
      lost: ours.reduce((sum, { lost }) => sum + lost, 0),
      errors: 0,
      runs: ours.map((gap, round) => ({ ...gap, byHand: hand[round]?.ms ?? 0 })),
    };
  });
}

interface OurGap extends Gap {
  /** The same as a client library with its defaults lets it through. */
  readonly iovalkey: number;
}

async function gapOf(
  fault: GapFault,
  { lab, cluster, round }: { readonly lab: Lab; readonly cluster: HealCluster; readonly round: number },
): Promise<OurGap> {
  await cluster.healthy();
  const victim = await fault.victim(cluster, round);
  const addresses = await cluster.addresses();
  await using library = await WriteClient.start({ addresses, frontEnd: "iovalkey", rate: GAP_RATE / 2 });
  const { report } = await cluster.writing(
    async () => {
      await moreWrites(library);
      const undo = await fault.strike(lab, cluster, victim);
      try {
        await cluster.replaced(victim);
        await moreWrites(library);
      } finally {
        await undo();
      }
    },
    { rate: GAP_RATE },
  );
  await cluster.healthy();
  const felt = await library.stop();
  return { ms: report.worstGapMs, iovalkey: felt.worstGapMs, lost: report.lost.length + felt.lost.length };
}
