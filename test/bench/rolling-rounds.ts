/**
 * From a change of the resources until every pod has them and the cluster is ready again, under write clients; against six
 * bare pods that are deleted one after the other, each when the one before is ready. Both take turns on one lab, and the
 * clients write during both: they and the pods share two cores.
 */
import { applyCluster, type ClusterRef, cli, clusterAt, clusterReady } from "../e2e/clusters.ts";
import { installOperator } from "../e2e/install.ts";
import { client } from "../e2e/operator.ts";
import { changeSpec, rolledOver, uidsOf } from "../e2e/rolling.ts";
import { type Felt, verdict, whileWriting } from "../e2e/writes.ts";
import { withNamespace } from "../lib/kube.ts";
import { bareCluster, restartInTurn } from "./bare-cluster.ts";
import { type Measured, median, type Progress, rounded } from "./bench.ts";

const ROUNDS = 3;

interface Round extends Readonly<Record<string, number>> {
  readonly rolling: number;
  readonly bare: number;
  readonly worstGapMs: number;
}

export async function measureRolling(progress: Progress): Promise<Measured> {
  progress("installing the operator");
  await installOperator();
  return withNamespace(client, async (namespace) => {
    const ref = { namespace, name: "roll" };
    await applyCluster(ref);
    await clusterReady(ref);
    await bareCluster(namespace);
    const runs: Round[] = [];
    let [lost, errors] = [0, 0];
    for (let round = 1; round <= ROUNDS; round += 1) {
      await forgetWrites(ref);
      const { took: bare } = await timedWhileWriting(ref, () => restartInTurn(namespace));
      const before = await uidsOf(ref);
      const { took, felt } = await timedWhileWriting(ref, async () => {
        await changeSpec(ref, { resources: { limits: { memory: `${128 + round}Mi` } } });
        await rolledOver(ref, before);
      });
      const { lost: gone, unread, errors: seen } = verdict(felt);
      lost += gone.length + unread;
      errors += Object.values(seen).reduce((sum, count) => sum + count, 0);
      runs.push({ rolling: took, bare, worstGapMs: felt.prober.worstGapMs });
      progress(
        `round ${round} of ${ROUNDS}: ${took} s with gaps up to ${felt.prober.worstGapMs} ms, bare pods ${bare} s`,
      );
    }
    const of = (key: "rolling" | "bare") => rounded(median(runs.map((one) => one[key])), 2);
    return { value: of("rolling"), unit: "s", limit: of("bare"), lost, errors, runs };
  });
}

/** Each round begins with the same: what the clients of the one before have written and read back. */
async function forgetWrites(ref: ClusterRef): Promise<void> {
  const shards = (await clusterAt(ref)).status?.shards ?? [];
  for (const { primary } of shards) {
    if (primary !== undefined) await cli(ref, `${primary}-0`, "FLUSHALL");
  }
}

async function timedWhileWriting(ref: ClusterRef, work: () => Promise<void>): Promise<{ took: number; felt: Felt }> {
  let took = 0;
  const felt = await whileWriting(ref, async () => {
    const begun = performance.now();
    await work();
    took = rounded((performance.now() - begun) / 1000, 2);
  });
  return { took, felt };
}
