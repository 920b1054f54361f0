/**
 * Twenty handovers of a ValkeyCluster, and as many times `CLUSTER FAILOVER` on six bare servers, in turns, each under a
 * write client of its own. What counts is what the client felt: the longest time without a write to the shard.
 */
import { FAILOVER_ANNOTATION, failoverText } from "../../pkg/api/failover-request.ts";
import {
  applyCluster,
  type ClusterPod,
  type ClusterRef,
  clusterReady,
  clusterWhere,
  podsLabelled,
  podsOf,
  VALKEY_CLUSTERS,
} from "../e2e/clusters.ts";
import { installOperator } from "../e2e/install.ts";
import { client } from "../e2e/operator.ts";
import { withNamespace } from "../lib/kube.ts";
import { until } from "../lib/until.ts";
import type { Report } from "../lib/write-client/report.ts";
import { WriteClient } from "../lib/write-client/write-client.ts";
import { BARE, bareCluster, bareReplica, inPod } from "./bare-cluster.ts";
import { type Measured, median, type Progress } from "./bench.ts";

const ROUNDS = 20;
/** A write every four milliseconds and shard: gaps are told to that. */
const RATE = 750;
/** So that the client has seen the shard well before and after. */
const CALM_WRITES = 500;

interface Round extends Readonly<Record<string, number>> {
  readonly handover: number;
  /** What the agent says of it. */
  readonly told: number;
  readonly bare: number;
  readonly errors: number;
}

export async function measureHandovers(progress: Progress): Promise<Measured> {
  progress("installing the operator");
  await installOperator();
  return withNamespace(client, async (namespace) => {
    const ref = { namespace, name: "gap" };
    await applyCluster(ref);
    await clusterReady(ref);
    await bareCluster(namespace);
    const rounds: Round[] = [];
    let lost = 0;
    for (let round = 0; round < ROUNDS; round += 1) {
      const bare = await felt(await podsLabelled(namespace, `app=${BARE}`), async () => bareFailover(namespace, round));
      let told = 0;
      const own = await felt(await podsOf(ref), async () => {
        told = await handOver(ref, round % 3);
      });
      lost += own.lost.length + own.unread;
      const errors = Object.values(own.errors).reduce((sum, count) => sum + count, 0);
      rounds.push({ handover: own.worstGapMs, told, bare: bare.worstGapMs, errors });
      progress(
        `round ${round + 1} of ${ROUNDS}: ${own.worstGapMs} ms (the agent says ${told}), bare ${bare.worstGapMs} ms`,
      );
    }
    const of = (key: "handover" | "bare") => median(rounds.map((one) => one[key]));
    const errors = rounds.reduce((sum, one) => sum + one.errors, 0);
    return { value: of("handover"), unit: "ms", limit: of("bare"), lost, errors, runs: rounds };
  });
}

async function felt(pods: readonly ClusterPod[], work: () => Promise<void>): Promise<Report> {
  const addresses = pods.map(({ status }) => ({ host: status.podIP, port: 6379 }));
  await using writer = await WriteClient.start({ frontEnd: "prober", addresses, rate: RATE });
  await calm(writer);
  await work();
  await calm(writer);
  return writer.stop();
}

async function calm(writer: WriteClient): Promise<void> {
  const goal = writer.acknowledged + CALM_WRITES;
  await until("writes go on", async () => writer.acknowledged >= goal, { timeoutMs: 60_000, everyMs: 20 });
}

/** A request that is taken up is pending or running before. */
const ENDS: ReadonlySet<string> = new Set(["Done", "Failed"]);

/** Gives for how long writes waited, as the agent says. */
async function handOver(ref: ClusterRef, shard: number): Promise<number> {
  const id = crypto.randomUUID();
  const request = failoverText({ id, shard, at: new Date().toISOString() });
  const body = { metadata: { annotations: { [FAILOVER_ANNOTATION]: request } } };
  await client.patch(VALKEY_CLUSTERS, ref, { type: "merge", body });
  const { status } = await clusterWhere(
    ref,
    "has handed over",
    ({ status: now }) => now?.failover?.id === id && ENDS.has(now.failover.phase),
  );
  if (status?.failover?.phase !== "Done") throw new Error(`the handover failed: ${status?.failover?.message}`);
  await clusterReady(ref);
  return status.failover.writesWaitedMs ?? 0;
}

async function bareFailover(namespace: string, round: number): Promise<void> {
  const replica = await bareReplica(namespace, round);
  await inPod(namespace, replica, "cluster", "failover");
  await until(`${replica} leads`, async () => (await inPod(namespace, replica, "role")).startsWith("master"));
}
