/**
 * Resident memory of a compiled program that watches what the operator watches: idle, and with 1,000 and 10,000 pods in
 * its cache. The pods are real objects of the API server in KUBECONFIG; they carry a scheduling gate, so nothing runs.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { KubeClient } from "../../pkg/kube/client.ts";
import { isKubeError } from "../../pkg/kube/kube-error.ts";
import { PODS, refOf, SERVICE_ACCOUNTS } from "../../pkg/kube/resource.ts";
import { compile } from "../../scripts/build.ts";
import { clientOf, withNamespace } from "../lib/kube.ts";
import { podBody } from "../lib/pods.ts";
import type { Bench, Progress } from "./bench.ts";
import { usageOf } from "./process-usage.ts";

const AIM_MB = 150;
const SIZES = [1000, 10_000] as const;
const WRITERS = 16;

export const operatorMemory: Bench = {
  name: "operator-memory",
  onLab: true,
  summary: "resident memory with 10,000 pods cached, with idle and 1,000 beside it, against the aim of 150 MB",
  run: async (progress) => {
    const folder = await mkdtemp(join(tmpdir(), "operator-memory-"));
    const client = clientOf();
    try {
      const program = join(folder, "program");
      await compile({ entry: join(import.meta.dir, "operator-memory-program.ts"), outfile: program });
      const runs = await withNamespace(client, (namespace) => measureAll(client, { program, namespace, progress }));
      const value = runs.at(-1)?.rss ?? 0;
      return { value, unit: "MB", limit: AIM_MB, errors: 0, runs };
    } finally {
      client.close();
      await rm(folder, { recursive: true });
    }
  },
};

interface Setting {
  readonly program: string;
  readonly namespace: string;
  readonly progress: Progress;
}

interface Measurement extends Readonly<Record<string, number>> {
  readonly pods: number;
  readonly rss: number;
  readonly peak: number;
}

async function measureAll(client: KubeClient, setting: Setting): Promise<Measurement[]> {
  const { program, namespace, progress } = setting;
  const runs = [await measure(program, namespace, 0)];
  await ensureServiceAccount(client, namespace);
  try {
    let made = 0;
    for (const size of SIZES) {
      progress(`creating ${size - made} pods`);
      await createPods(client, namespace, { from: made, to: size });
      made = size;
      runs.push(await measure(program, namespace, size));
    }
  } finally {
    progress("deleting them");
    await deletePods(client, namespace);
  }
  for (const { pods, rss, peak } of runs) progress(`${pods} pods: ${rss} MB resident, ${peak} MB at most`);
  return runs;
}

/** Controllers make it, where there are any. */
async function ensureServiceAccount(client: KubeClient, namespace: string): Promise<void> {
  try {
    await client.create(SERVICE_ACCOUNTS, { metadata: { namespace, name: "default" } });
  } catch (error) {
    if (!isKubeError(error, "already-exists")) throw error;
  }
}

async function createPods(client: KubeClient, namespace: string, range: { from: number; to: number }): Promise<void> {
  const names = Array.from({ length: range.to - range.from }, (_, n) => `pod-${range.from + n}`);
  await eachOf(names, (name) => client.create(PODS, podBody(namespace, name)));
}

async function deletePods(client: KubeClient, namespace: string): Promise<void> {
  const { items } = await client.listAll(PODS, { namespace, metadataOnly: true });
  await eachOf(items, (pod) => client.delete(PODS, refOf(pod), { gracePeriodSeconds: 0 }));
}

async function eachOf<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> {
  const left = items.values();
  const worker = async () => {
    for (const item of left) await work(item);
  };
  await Promise.all(Array.from({ length: WRITERS }, worker));
}

async function measure(program: string, namespace: string, pods: number): Promise<Measurement> {
  const env = { ...process.env, NAMESPACE: namespace };
  const child = Bun.spawn([program], { env, stdin: "pipe", stdout: "pipe", stderr: "inherit" });
  try {
    const { value } = await child.stdout.getReader().read();
    const said = Buffer.from(value ?? []).toString();
    if (said !== `synced ${pods}\n`) throw new Error(`the program said ${JSON.stringify(said)}, not synced ${pods}`);
    return { pods, ...(await settled(child.pid)) };
  } finally {
    await child.stdin.end();
    await child.exited;
  }
}

/** Memory is handed back some time after the list: measured when it has not changed by a megabyte for five seconds. */
async function settled(pid: number): Promise<{ rss: number; peak: number }> {
  let last = await usageOf(pid);
  for (let same = 0, tries = 0; same < 5 && tries < 60; tries += 1) {
    await Bun.sleep(1000);
    const now = await usageOf(pid);
    same = Math.abs(now.rss - last.rss) < 1 ? same + 1 : 0;
    last = now;
  }
  return { rss: last.rss, peak: last.peak };
}
