/**
 * A whole operator in small, on a real API server: caches, lease, queue, apply, expectations. For every ConfigMap with
 * the label role=input it keeps one named NAME-out with the same data. Two replicas of it run side by side.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { Applier, applyMetrics } from "../../pkg/kube/apply.ts";
import { Cache } from "../../pkg/kube/cache.ts";
import { type Controller, type Step, startController, watches } from "../../pkg/kube/controller.ts";
import { Expectations } from "../../pkg/kube/expectations.ts";
import { LeaderElector } from "../../pkg/kube/lease.ts";
import { leaseStore } from "../../pkg/kube/lease-store.ts";
import { Manager } from "../../pkg/kube/manager.ts";
import { controllerReference, ownerKey } from "../../pkg/kube/owner.ts";
import { queueMetrics } from "../../pkg/kube/queue-metrics.ts";
import { CONFIG_MAPS, keyOf, type LooseObject, NAMESPACES } from "../../pkg/kube/resource.ts";
import { createLogger } from "../../pkg/log/log.ts";
import { Registry } from "../../pkg/metrics/metrics.ts";
import { clientOf } from "../lib/kube.ts";
import { until } from "../lib/until.ts";

const namespace = `manager-${Date.now().toString(36)}`;
const client = clientOf();
const log = createLogger({ program: "test", level: "error" });
const replicas: Replica[] = [];

interface MakeOutput extends Step {
  readonly do: "make-output";
  readonly input: LooseObject;
}

class Replica {
  readonly client = clientOf();
  readonly registry = new Registry();
  readonly manager: Manager;
  readonly #stop = new AbortController();
  readonly #ended: Promise<void>;

  constructor(identity: string) {
    const cache = new Cache(this.client, { resource: CONFIG_MAPS, selection: { namespace } });
    const expectations = new Expectations();
    expectations.watchedBy(CONFIG_MAPS, (key) => cache.byKey(key));
    const applier = new Applier({ client: this.client, expectations, metrics: applyMetrics(this.registry) });
    const controller = outputController(cache, applier);
    const deps = { expectations, log, metrics: queueMetrics(this.registry) };
    this.manager = new Manager({
      caches: [
        {
          name: "configmaps",
          run: async (signal) => cache.run(signal),
          ready: async (signal) => cache.whenSynced(signal),
        },
      ],
      services: [],
      controllers: [{ name: "outputs", start: (term) => startController(controller, deps, term) }],
      elector: new LeaderElector({ store: leaseStore(this.client, { namespace, name: "manager" }), identity, log }),
      log,
    });
    this.#ended = this.manager.run(this.#stop.signal);
    replicas.push(this);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#ended;
    this.client.close();
  }

  writes(): number {
    const counts = this.registry.text().matchAll(/^kube_writes_total\{.*\} (\d+)$/gmu);
    return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
  }
}

function outputController(cache: Cache<LooseObject>, applier: Applier): Controller<LooseObject, unknown, MakeOutput> {
  const isInput = (object: LooseObject) => object.metadata.labels?.["role"] === "input";
  return {
    name: "outputs",
    sources: [
      watches(cache, (object) => (isInput(object) ? [keyOf(object)] : [])),
      watches(cache, (object) => {
        const owner = ownerKey(object, CONFIG_MAPS);
        return owner === undefined ? [] : [owner];
      }),
    ],
    observe: (key) => {
      const input = cache.byKey(key);
      return input === undefined ? undefined : { wanted: input, view: undefined };
    },
    plan: (input) => ({ steps: [{ do: "make-output", input }], holds: [], requeueAfterMs: 60_000 }),
    act: async ({ input }, { owner, signal, guard }) => {
      const metadata = {
        namespace,
        name: `${input.metadata.name}-out`,
        ownerReferences: [controllerReference(CONFIG_MAPS, input)],
      };
      const live = cache.get(metadata);
      await applier.apply(CONFIG_MAPS, { metadata, ...dataOf(input) }, { owner, live, signal, guard });
    },
  };
}

const dataOf = (object: LooseObject | undefined) => ({ data: object?.["data"] });

async function setInput(name: string, value: string): Promise<void> {
  const input = { metadata: { namespace, name, labels: { role: "input" } }, data: { value } };
  await client.apply(CONFIG_MAPS, input, { fieldManager: "user", force: true });
}

const output = async (name: string) => dataOf(await client.find(CONFIG_MAPS, { namespace, name: `${name}-out` })).data;
const shows = (name: string, value: string) => async () => Bun.deepEquals(await output(name), { value });

beforeAll(async () => {
  await client.create(NAMESPACES, { metadata: { name: namespace } });
});

afterAll(async () => {
  for (const replica of replicas) await replica.stop();
  await client.delete(NAMESPACES, { name: namespace });
  client.close();
});

test("two replicas: one works, without a write too many, and hands over within 3 s", async () => {
  const first = new Replica("first");
  await until("the first leads", () => first.manager.health.leading);
  const second = new Replica("second");
  await until("the second is ready", () => second.manager.health.ready);
  const names = Array.from({ length: 50 }, (_, n) => `input-${n}`);
  await Promise.all(names.map(async (name) => setInput(name, "1")));
  for (const name of names) await until(`${name} has its output`, shows(name, "1"));
  // A write is seen by us before its answer is seen by its writer.
  await until("the first knows of its writes", () => first.writes() >= 50);
  expect(first.writes()).toBe(50);

  await client.patch(
    CONFIG_MAPS,
    { namespace, name: "input-7-out" },
    { type: "merge", body: { data: { value: "drift" } } },
  );
  await until("the drift is repaired", shows("input-7", "1"));
  await client.delete(CONFIG_MAPS, { namespace, name: "input-8-out" });
  await until("what was deleted is made again", shows("input-8", "1"));

  const at = performance.now();
  const stopping = first.stop();
  await setInput("input-9", "2");
  await until("the next leader has followed a change", shows("input-9", "2"));
  const took = performance.now() - at;
  console.log(`after a stop the other replica leads and has reconciled a change after ${took.toFixed(0)} ms`);
  expect(took).toBeLessThan(3000);
  await stopping;
  replicas.splice(replicas.indexOf(first), 1);
  expect(first.writes()).toBe(52);
  expect(second.manager.health.leading).toBe(true);
  // Its write is seen by us before its answer is seen by it.
  await until("the new leader knows of its write", () => second.writes() > 0);
  // A new leader looks at everything, and finds it as it should be.
  await until("the new leader has looked at all", () =>
    second.registry.text().includes('workqueue_depth{queue="outputs"} 0'),
  );
  expect(second.writes()).toBe(1);
}, 300_000);
