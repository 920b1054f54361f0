/**
 * The agents of a real cluster of six pods that nobody uses: their memory after an hour, and the processor time that
 * they took meanwhile.
 */
import { Trouble } from "../../scripts/lib.ts";
import { theLab } from "../e2e/cluster.ts";
import { applyCluster, clusterReady, podsOf } from "../e2e/clusters.ts";
import { installOperator } from "../e2e/install.ts";
import { containerProcesses } from "../lab/faults.ts";
import type { Lab } from "../lab/lab.ts";
import { clientOf, withNamespace } from "../lib/kube.ts";
import { type Measured, type Progress, rounded } from "./bench.ts";
import { millicores, type Usage, usageOf } from "./process-usage.ts";

const AIM_MB = 64;

export async function measureAgents(progress: Progress): Promise<Measured> {
  const lab = await theLab();
  if (lab === undefined) throw new Trouble("agent-memory looks at processes of the lab's nodes: it needs the lab");
  await installOperator();
  const client = clientOf();
  try {
    return await withNamespace(client, (namespace) => measureIn(lab, namespace, progress));
  } finally {
    client.close();
  }
}

async function measureIn(lab: Lab, namespace: string, progress: Progress): Promise<Measured> {
  const ref = { namespace, name: "idle" };
  await applyCluster(ref);
  await clusterReady(ref);
  const pods = (await podsOf(ref)).map(({ metadata }) => metadata.name);
  const look = () => Promise.all(pods.map((pod) => agentUsage(lab, namespace, pod)));
  const minutes = Number(process.env["BENCH_MINUTES"] ?? 60);
  progress(`six agents are idle for ${minutes} minutes`);
  const before = await look();
  for (let minute = 1; minute <= minutes; minute += 1) {
    await Bun.sleep(60_000);
    if (minute % 10 === 0 || minute === minutes) progress(line(minute, before, await look()));
  }
  const after = await look();
  const runs = after.map((usage, n) => ({
    rss: usage.rss,
    peak: usage.peak,
    millicores: millicores(before[n] ?? usage, usage),
  }));
  return { value: Math.max(...runs.map(({ rss }) => rss)), unit: "MB", limit: AIM_MB, errors: 0, runs };
}

async function agentUsage(lab: Lab, namespace: string, pod: string): Promise<Usage> {
  const [pid] = await containerProcesses(lab, { namespace, pod, container: "agent" });
  if (pid === undefined) throw new Trouble(`no agent runs in ${pod}`);
  return usageOf(pid);
}

function line(minute: number, before: readonly Usage[], now: readonly Usage[]): string {
  const memory = now.map(({ rss }) => rss).join(", ");
  const cores = now.map((usage, n) => millicores(before[n] ?? usage, usage));
  return `after ${minute} min: ${memory} MB; ${rounded(Math.max(...cores), 1)} millicores at most`;
}
