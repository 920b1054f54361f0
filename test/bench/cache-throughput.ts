/**
 * Events per second through a cache with projection and index into the work queue. The limit, measured in the same run
 * over the same bytes: reading the same watch and parsing its JSON, nothing else.
 */
import { Cache } from "../../pkg/kube/cache.ts";
import { byLabel } from "../../pkg/kube/cache-index.ts";
import { KubeClient } from "../../pkg/kube/client.ts";
import type { KubeConnection } from "../../pkg/kube/kube-config.ts";
import { WorkQueue } from "../../pkg/kube/queue.ts";
import { keyOf } from "../../pkg/kube/resource.ts";
import { KubeTransport } from "../../pkg/kube/transport.ts";
import { SourcedCredentials } from "../../pkg/kube/transport-credentials.ts";
import { LineReader } from "../../pkg/kube/watch.ts";
import { PROJECTED_PODS } from "../lib/pods.ts";
import { type Bench, median } from "./bench.ts";

const PODS = 1000;
const FRAMES = 20_000;
const RUNS = 5;

export const cacheThroughput: Bench = {
  name: "cache-throughput",
  summary: "watch events per second through cache and queue, against only reading and parsing them",
  run: async (progress) => {
    const feeder = await startFeeder();
    try {
      progress(`${FRAMES} frames of ${(feeder.bytes / FRAMES / 1024).toFixed(1)} kB, ${RUNS} runs`);
      const bare: number[] = [];
      const cached: CacheRun[] = [];
      for (let n = 0; n <= RUNS; n += 1) {
        const [limit, through] = [await runBare(feeder.connection), await runCache(feeder.connection)];
        // The first round compiles the code.
        if (n === 0) continue;
        bare.push(limit);
        cached.push(through);
        progress(`run ${n}: ${limit.toFixed(0)}/s bare, ${through.perSecond.toFixed(0)}/s through the cache`);
      }
      const runs = cached.map(({ perSecond }) => perSecond);
      const lost = cached.reduce((sum, run) => sum + run.lost, 0);
      return { value: median(runs), unit: "events/s", limit: median(bare), lost, errors: 0, runs };
    } finally {
      await feeder.stop();
    }
  },
};

interface Feeder {
  readonly connection: KubeConnection;
  readonly bytes: number;
  readonly stop: () => Promise<void>;
}

/** In a process of its own, so that only the reader is measured. */
async function startFeeder(): Promise<Feeder> {
  const child = Bun.spawn([process.execPath, `${import.meta.dir}/watch-feeder.ts`], {
    env: { ...process.env, PODS: String(PODS), FRAMES: String(FRAMES) },
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
  });
  const { value } = await child.stdout.getReader().read();
  const told = JSON.parse(Buffer.from(value ?? []).toString()) as { port: number; ca: string; bytes: number };
  const stop = async () => {
    await child.stdin.end();
    await child.exited;
  };
  const connection = {
    server: `https://127.0.0.1:${told.port}`,
    userAgent: "bench",
    namespace: "default",
    tls: () => ({ ca: told.ca }),
    credentials: new SourcedCredentials({}),
  };
  return { connection, bytes: told.bytes, stop };
}

async function runBare(connection: KubeConnection): Promise<number> {
  const transport = new KubeTransport(connection);
  const signal = AbortSignal.timeout(120_000);
  const began = performance.now();
  const path = "/api/v1/pods?watch=true";
  const message = await transport.open({ action: "watch pods", method: "GET", path, idempotent: true, signal });
  let frames = 0;
  const lines = new LineReader((line) => {
    JSON.parse(line);
    frames += 1;
  });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  message.on("data", (chunk: Buffer) => lines.push(chunk));
  message.on("end", resolve);
  message.on("error", reject);
  await promise;
  transport.close();
  return (frames / (performance.now() - began)) * 1000;
}

interface CacheRun {
  readonly perSecond: number;
  /** Keys whose last state never reached the queue's worker. */
  readonly lost: number;
}

async function runCache(connection: KubeConnection): Promise<CacheRun> {
  const client = new KubeClient(new KubeTransport(connection));
  const stop = new AbortController();
  const done = Promise.withResolvers<number>();
  const seen = new Map<string, string>();
  let frames = 0;
  let began = 0;
  const cache = new Cache(client, {
    resource: PROJECTED_PODS,
    indexes: { instance: byLabel("app.kubernetes.io/instance") },
    observer: {
      listed: () => {
        began = performance.now();
      },
      frame: () => {
        frames += 1;
        if (frames === FRAMES) done.resolve(performance.now());
      },
    },
  });
  const queue = new WorkQueue({
    name: "bench",
    run: async (key: string) => {
      seen.set(key, cache.byKey(key)?.metadata.resourceVersion ?? "");
      return {};
    },
  });
  cache.subscribe((change) => queue.add(keyOf(change.object)));
  queue.start();
  const running = cache.run(stop.signal);
  const ended = await done.promise;
  while (queue.depth > 0) await Bun.sleep(1);
  await queue.stop(1000);
  stop.abort();
  await running;
  client.close();
  const lost = cache.list().filter((pod) => seen.get(keyOf(pod)) !== pod.metadata.resourceVersion).length;
  return { perSecond: (FRAMES / (ended - began)) * 1000, lost };
}
