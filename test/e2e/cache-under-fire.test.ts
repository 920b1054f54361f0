/**
 * The cache under fire: behind a proxy that breaks everything it can, while another client changes objects, the cache
 * has to equal a fresh list after every fault, every subscriber has to hear a story without gaps, and memory stays flat.
 *
 * CACHE_FIRE_MINUTES=10 runs it for that long; without it each fault comes once. The API server is restarted on the lab
 * only: a cluster that somebody else has must not be hurt.
 */
import { heapStats } from "bun:jsc";
import { expect, test } from "bun:test";
import { Cache, type CacheChange, type CacheObserver } from "../../pkg/kube/cache.ts";
import type { KubeClient } from "../../pkg/kube/client.ts";
import { CONFIG_MAPS, keyOf, type LooseObject } from "../../pkg/kube/resource.ts";
import { restartApiServer } from "../lab/faults.ts";
import { FaultProxy } from "../lib/fault-proxy.ts";
import { clientOf, ownIn, withNamespace } from "../lib/kube.ts";
import { until } from "../lib/until.ts";
import { Writer } from "../lib/writer.ts";
import { onLab, theLab } from "./cluster.ts";

const MINUTES = Number(process.env["CACHE_FIRE_MINUTES"] ?? "0");
const TIMING = {
  compareMs: 2000,
  graceMs: 500,
  watchMs: 2000,
  idleMs: 1500,
  backoffMs: 50,
  maxBackoffMs: 500,
  deadlineMs: 1500,
};

interface Trial {
  readonly name: string;
  /** How long the fault stays. */
  readonly ms: number;
  readonly begin: (proxy: FaultProxy) => void | Promise<void>;
}

const LOSING: Trial = {
  name: "frames lost",
  ms: 1500,
  begin: (proxy) => proxy.set({ kind: "drop", share: 0.1 }),
};

const TRIALS: readonly Trial[] = [
  { name: "nothing wrong", ms: 1000, begin: () => undefined },
  { name: "connections cut", ms: 300, begin: (proxy) => proxy.cut() },
  { name: "connections cut again and again", ms: 1500, begin: cutAgainAndAgain },
  { name: "half-open", ms: 3000, begin: (proxy) => proxy.set({ kind: "half-open" }) },
  { name: "410 in a frame", ms: 300, begin: (proxy) => proxy.expireWatches() },
  { name: "410 as answers", ms: 1000, begin: (proxy) => refuse(proxy, 410) },
  { name: "429", ms: 1500, begin: (proxy) => refuse(proxy, 429) },
  { name: "500", ms: 1500, begin: (proxy) => refuse(proxy, 500) },
  { name: "slow", ms: 1500, begin: (proxy) => proxy.set({ kind: "slow", delayMs: 20 }) },
  { name: "frames twice", ms: 1500, begin: (proxy) => proxy.set({ kind: "duplicate", share: 0.2 }) },
  { name: "frames swapped", ms: 1500, begin: (proxy) => proxy.set({ kind: "reorder", share: 0.2 }) },
  LOSING,
  ...(onLab ? [{ name: "API server restarted", ms: 1000, begin: restart }] : []),
];

test(
  "the cache equals a fresh list after every fault, and memory stays flat",
  async () => {
    const direct = clientOf();
    await withNamespace(direct, async (namespace) => {
      const proxy = await FaultProxy.start({ upstream: direct.transport.connection });
      const fire = new Fire(direct, clientOf(proxy.connection), namespace);
      try {
        await fire.run(proxy);
      } finally {
        await fire.stop();
        await proxy.close();
      }
    });
  },
  (MINUTES * 60 + 600) * 1000,
);

class Fire {
  readonly #direct: KubeClient;
  readonly #namespace: string;
  readonly #cache: Cache<LooseObject>;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  readonly #writer: Writer;
  readonly #mirror = new Mirror();
  readonly #counts = new Map<string, number>();
  readonly #heap: number[] = [];

  constructor(direct: KubeClient, faulty: KubeClient, namespace: string) {
    this.#direct = direct;
    this.#namespace = namespace;
    this.#writer = new Writer(direct, { namespace, names: 200, workers: 6 });
    this.#cache = new Cache(faulty, {
      resource: CONFIG_MAPS,
      selection: ownIn(namespace),
      timing: TIMING,
      pageSize: 50,
      observer: this.#observer(),
    });
    this.#cache.subscribe((change) => this.#mirror.apply(change));
    this.#running = this.#cache.run(this.#stop.signal);
  }

  async run(proxy: FaultProxy): Promise<void> {
    const began = performance.now();
    await this.#cache.whenSynced(AbortSignal.timeout(60_000));
    do {
      for (const trial of TRIALS) {
        await this.#try(trial, proxy);
        Bun.gc(true);
        this.#heap.push(heapStats().heapSize / 2 ** 20);
      }
    } while (performance.now() - began < MINUTES * 60_000);
    // How many frames pass while some of them are lost is a matter of the machine.
    while (!this.#counts.has("missed")) await this.#try(LOSING, proxy);
    this.#report(began);
    expect(this.#mirror.faults).toEqual([]);
    expect(this.#counts.get("missed") ?? 0).toBeGreaterThan(0);
    this.#expectFlatHeap();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  /** The fault comes while the writer writes; after both have ended the cache has to catch up. */
  async #try(trial: Trial, proxy: FaultProxy): Promise<void> {
    const writing = new AbortController();
    const written = this.#writer.run(writing.signal);
    try {
      await trial.begin(proxy);
      await Bun.sleep(trial.ms);
    } finally {
      proxy.clear();
      writing.abort();
      await written;
    }
    // Listed anew for every look: a write that its writer has given up may still reach the server.
    const equals = async (objects: () => readonly LooseObject[]) => {
      const { items } = await this.#direct.listAll(CONFIG_MAPS, ownIn(this.#namespace));
      return pictureOf(objects()) === pictureOf(items);
    };
    const often = { everyMs: 100 };
    await until(`the cache equals a fresh list after: ${trial.name}`, () => equals(() => this.#cache.list()), often);
    await until("the subscriber knows the same", () => equals(() => this.#mirror.list()), often);
  }

  #observer(): CacheObserver {
    const count = (what: string, by = 1) => this.#counts.set(what, (this.#counts.get(what) ?? 0) + by);
    return {
      frame: (type) => count(`frame ${type}`),
      listed: (reason) => count(`list ${reason}`),
      failed: (code) => count(`failed ${code}`),
      compared: (missed) => {
        if (missed > 0) count("missed", missed);
      },
      subscriberFailed: (error) => this.#mirror.faults.push(String(error)),
    };
  }

  #report(began: number): void {
    const seconds = (performance.now() - began) / 1000;
    const counts = [...this.#counts].map(([what, n]) => `${what} ${n}`).toSorted();
    const [least, most, last] = [Math.min(...this.#heap), Math.max(...this.#heap), this.#heap.at(-1) ?? 0];
    const heap = `${least.toFixed(1)} to ${most.toFixed(1)}, at last ${last.toFixed(1)}`;
    console.log(`${seconds.toFixed(0)} s, ${this.#writer.changes} changes; ${counts.join(", ")}; heap MB: ${heap}`);
  }

  /** The first quarter warms up; after it the heap may breathe, not grow. */
  #expectFlatHeap(): void {
    const rounds = this.#heap.slice(Math.floor(this.#heap.length / 4));
    const [first = 0, last = 0] = [rounds[0], rounds.at(-1)];
    expect(last - first).toBeLessThan(8);
  }
}

/** What a subscriber that believes every change ends up with; anything that does not fit what it knows is a fault. */
class Mirror {
  readonly faults: string[] = [];
  readonly #objects = new Map<string, LooseObject>();

  list(): LooseObject[] {
    return [...this.#objects.values()];
  }

  apply(change: CacheChange<LooseObject>): void {
    const key = keyOf(change.object);
    const known = this.#objects.get(key);
    if (change.type === "add" && known !== undefined) this.faults.push(`${key} was added twice`);
    if (change.type === "update" && known !== change.old) this.faults.push(`${key} changed from something unknown`);
    if (change.type === "update" && change.old.metadata.uid !== change.object.metadata.uid) {
      this.faults.push(`${key} became another object without being deleted`);
    }
    if (change.type === "delete" && known !== change.object) this.faults.push(`${key} was deleted and not known`);
    if (change.type === "delete") this.#objects.delete(key);
    else this.#objects.set(key, change.object);
  }
}

function pictureOf(objects: readonly LooseObject[]): string {
  const lines = objects.map(
    ({ metadata, data }) => `${metadata.name} ${metadata.uid} ${metadata.resourceVersion} ${JSON.stringify(data)}`,
  );
  return lines.toSorted().join("\n");
}

function refuse(proxy: FaultProxy, status: 410 | 429 | 500): void {
  proxy.set({ kind: "refuse", status, times: 5, ...(status === 429 ? { retryAfter: 1 } : {}) });
  proxy.cut();
}

async function cutAgainAndAgain(proxy: FaultProxy): Promise<void> {
  for (let time = 0; time < 10; time += 1) {
    proxy.cut();
    await Bun.sleep(100);
  }
}

async function restart(): Promise<void> {
  const lab = await theLab();
  if (lab !== undefined) await restartApiServer(lab);
}
