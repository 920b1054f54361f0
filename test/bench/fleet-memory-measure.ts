/**
 * The leader of a real operator with one cluster, with ten, and with a fleet: its memory, and the processor time that it
 * takes while nothing happens but heartbeats. The fleet's clusters are real objects with real StatefulSets; only their
 * machines, kubelets, agents and servers are played.
 */
import * as v from "valibot";
import { SERVICES, typed } from "../../pkg/kube/resource.ts";
import { Trouble } from "../../scripts/lib.ts";
import { apply, theLab } from "../e2e/cluster.ts";
import { clusterObject, holds, VALKEY_CLUSTERS } from "../e2e/clusters.ts";
import { installOperator, OPERATOR_NAMESPACE } from "../e2e/install.ts";
import { client, metric, type OperatorPod, settledPair } from "../e2e/operator.ts";
import { containerProcesses } from "../lab/faults.ts";
import type { Lab } from "../lab/lab.ts";
import { withNamespace } from "../lib/kube.ts";
import { until } from "../lib/until.ts";
import { type Measured, type Progress, rounded } from "./bench.ts";
import { PLAYED_SPEC, routeToPlayed, startMachines } from "./fleet-memory-machines.ts";
import { PlayedShares } from "./fleet-memory-shares.ts";
import { millicores, type Usage, usageOf } from "./process-usage.ts";

/** Well below half of the limit of the operator's container: there must be room for a rotation of all certificates. */
const AIM_MB = 400;
const REAL = Number(process.env["BENCH_REAL"] ?? 10);
const PLAYED = Number(process.env["BENCH_FLEET"] ?? 200);
/** Made at once; the next ones when these are Ready. */
const BATCH = 10;
const SETTLE_MS = 30_000;
const WATCH_MS = 60_000;
const PATIENCE = { timeoutMs: 300_000, everyMs: 500 };

export interface FleetRun extends Readonly<Record<string, number>> {
  readonly clusters: number;
  readonly agents: number;
  readonly rss: number;
  readonly peak: number;
  readonly millicores: number;
  readonly heartbeatsPerSecond: number;
}

export async function measureFleet(progress: Progress): Promise<Measured> {
  const lab = await theLab();
  if (lab === undefined) throw new Trouble("fleet-memory plays machines beside the lab's nodes: it needs the lab");
  await installOperator();
  const runs = await withNamespace(client, (namespace) => measureAll(lab, namespace, progress));
  return { value: runs.at(-1)?.rss ?? 0, unit: "MB", limit: AIM_MB, errors: 0, runs };
}

async function measureAll(lab: Lab, namespace: string, progress: Progress): Promise<FleetRun[]> {
  const runs: FleetRun[] = [];
  const measured = async (clusters: number) => {
    const run = await measure(lab, clusters);
    progress(
      `${clusters} clusters: ${run.rss} MB, ${run.peak} MB at most; ${run.millicores} millicores with ` +
        `${run.heartbeatsPerSecond} heartbeats per second`,
    );
    runs.push(run);
  };
  for (const size of new Set([Math.min(1, REAL), REAL])) {
    if (size === 0) continue;
    const made = runs.at(-1)?.clusters ?? 0;
    progress(`${size - made} more real clusters`);
    await ready(namespace, namesFrom("real", made, size), {});
    await measured(size);
  }
  if (PLAYED > 0) await withFleet(progress, () => measured(REAL + PLAYED));
  return runs;
}

async function withFleet(progress: Progress, work: () => Promise<void>): Promise<void> {
  await routeToPlayed();
  const stopMachines = await startMachines(client);
  const shares = await PlayedShares.start(client, {
    clusters: PLAYED,
    operatorUrl: await operatorUrl(),
    operatorNamespace: OPERATOR_NAMESPACE,
  });
  try {
    for (let made = 0; made < PLAYED; made += BATCH) {
      const begun = performance.now();
      const names = namesFrom("played", made, Math.min(PLAYED, made + BATCH));
      await ready(shares.namespaceOf(made), names, PLAYED_SPEC);
      const seconds = rounded((performance.now() - begun) / 1000, 1);
      progress(
        `${made + names.length} of ${PLAYED} played clusters are Ready, the last ${names.length} in ${seconds} s`,
      );
    }
    await work();
  } finally {
    await shares.stop();
    stopMachines();
  }
}

function namesFrom(prefix: string, from: number, to: number): string[] {
  return Array.from({ length: to - from }, (_, n) => `${prefix}-${from + n}`);
}

async function ready(namespace: string, names: readonly string[], spec: Readonly<Record<string, unknown>>) {
  await apply(...names.map((name) => clusterObject({ namespace, name }, spec)));
  await until(`${names.join(", ")} are Ready`, async () => (await notReady(namespace, names)).length === 0, {
    ...PATIENCE,
  }).catch(async (error: unknown) => {
    const late = await notReady(namespace, names);
    const told = late.slice(0, 2).map(({ metadata, status }) => ({ name: metadata.name, status }));
    throw new Error(`${late.length} clusters are not Ready, among them ${JSON.stringify(told)}`, { cause: error });
  });
}

async function notReady(namespace: string, names: readonly string[]) {
  const { items } = await client.listAll(VALKEY_CLUSTERS, { namespace });
  return items.filter((cluster) => names.includes(cluster.metadata.name) && !holds(cluster, "Ready"));
}

const Service = v.object({ spec: v.object({ clusterIP: v.string() }) });

/** There is no DNS of the cluster where the benchmark runs. */
async function operatorUrl(): Promise<string> {
  const ref = { namespace: OPERATOR_NAMESPACE, name: "valkey-operator" };
  const { spec } = await client.get(
    typed(SERVICES, (value) => v.parse(Service, value)),
    ref,
  );
  return `https://${spec.clusterIP}:8443`;
}

interface Look extends Usage {
  readonly leader: OperatorPod;
  readonly heartbeats: number;
}

async function measure(lab: Lab, clusters: number): Promise<FleetRun> {
  await Bun.sleep(SETTLE_MS);
  const before = await look(lab);
  await Bun.sleep(WATCH_MS);
  const after = await look(lab);
  if (after.leader.name !== before.leader.name || after.leader.restarts !== before.leader.restarts) {
    throw new Error(`the leader changed while it was measured: ${before.leader.name}, then ${after.leader.name}`);
  }
  const seconds = after.at - before.at;
  return {
    clusters,
    agents: clusters * 6,
    rss: after.rss,
    peak: after.peak,
    millicores: millicores(before, after),
    heartbeatsPerSecond: rounded((after.heartbeats - before.heartbeats) / seconds, 1),
  };
}

async function look(lab: Lab): Promise<Look> {
  const { leader } = await settledPair();
  const ref = { namespace: OPERATOR_NAMESPACE, pod: leader.name, container: "operator" };
  const [pid] = await containerProcesses(lab, ref);
  if (pid === undefined) throw new Trouble(`no operator runs in ${leader.name}`);
  const heartbeats = await metric(leader, "rpc_served_total", "/Heartbeat");
  return { ...(await usageOf(pid)), leader, heartbeats };
}
