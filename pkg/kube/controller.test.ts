import { describe, expect, test } from "bun:test";
import { pino } from "pino";
import { FakeClock } from "../clock/fake-clock.ts";
import {
  type Controller,
  type ObjectCache,
  type ObjectChange,
  type Plan,
  type Step,
  type StepFailure,
  startController,
  watches,
} from "./controller.ts";
import { Expectations } from "./expectations.ts";
import { Term } from "./lease-term.ts";
import { CONFIG_MAPS, type KubeObject, keyOf } from "./resource.ts";

const log = pino({ level: "silent" });

interface Number extends KubeObject {
  readonly value: number;
}

/** A cache that shows what the test puts in. */
class TestCache implements ObjectCache<Number> {
  readonly synced = true;
  readonly #objects = new Map<string, Number>();
  readonly #subscribers = new Set<(change: ObjectChange<Number>) => void>();

  byKey(key: string): Number | undefined {
    return this.#objects.get(key);
  }

  list(): Number[] {
    return [...this.#objects.values()];
  }

  subscribe(on: (change: ObjectChange<Number>) => void): () => void {
    for (const object of this.list()) on({ type: "add", object });
    this.#subscribers.add(on);
    return () => void this.#subscribers.delete(on);
  }

  put(name: string, value: number, owner?: string): Number {
    const labels = owner === undefined ? {} : { owner };
    const object = { metadata: { namespace: "ns", name, uid: name, resourceVersion: String(value), labels }, value };
    const old = this.#objects.get(keyOf(object));
    this.#objects.set(keyOf(object), object);
    for (const on of this.#subscribers) on({ type: old === undefined ? "add" : "update", object, old });
    return object;
  }
}

type Act = (step: Step, key: string) => Promise<void>;

function world(plan: (value: number) => Plan<Step>, act: Act = async () => {}) {
  const clock = new FakeClock();
  const cache = new TestCache();
  const expectations = new Expectations({ clock });
  expectations.watchedBy(CONFIG_MAPS, (key) => cache.byKey(key));
  const acted: string[] = [];
  const reports: { readonly holds: readonly string[]; readonly failures: readonly StepFailure<Step>[] }[] = [];
  const controller: Controller<number, string, Step> = {
    name: "test",
    sources: [watches(cache, (object) => [object.metadata.labels?.["owner"] ?? keyOf(object)])],
    observe: (key) => {
      const object = cache.byKey(key);
      return object === undefined ? undefined : { wanted: object.value, view: key };
    },
    plan: (wanted) => plan(wanted),
    act: async (step, { key }) => {
      acted.push(step.do);
      await act(step, key);
    },
    report: async ({ plan: told, failures }) => {
      reports.push({ holds: told.holds.map(({ name }) => name), failures });
    },
  };
  const since = { monotonic: clock.monotonic(), wall: clock.wall() };
  const term = new Term({ clock, token: 7, renewDeadlineMs: 1e9, since });
  const start = () => startController(controller, { expectations, log, clock, random: () => 0 }, term);
  return { clock, cache, expectations, acted, reports, term, start };
}

const steps = (...names: string[]): Plan<Step> => ({ steps: names.map((name) => ({ do: name })), holds: [] });

describe("a controller", () => {
  test("looks at what is there and at every change", async () => {
    const { clock, cache, acted, start } = world((value) => ({ ...steps(`set ${value}`), requeueAfterMs: 1e9 }));
    cache.put("a", 1);
    start();
    await clock.advance(10);
    cache.put("a", 2);
    await clock.advance(10);
    expect(acted).toEqual(["set 1", "set 2"]);
  });

  test("wakes the former and the new owner of what moved", async () => {
    const { clock, cache, reports, start } = world(() => steps());
    cache.put("first", 1);
    cache.put("second", 1);
    start();
    cache.put("moves", 1, "ns/first");
    await clock.advance(10);
    const before = reports.length;
    cache.put("moves", 2, "ns/second");
    await clock.advance(10);
    expect(reports.length - before).toBe(2);
  });

  test("looks again soon after steps, at the time the plan says, or not at all", async () => {
    const { clock, cache, acted, reports, start } = world((value) =>
      value === 1 ? steps("x") : { ...steps(), requeueAfterMs: 5000 },
    );
    cache.put("a", 1);
    start();
    await clock.advance(2500);
    expect(acted).toHaveLength(3);
    cache.put("a", 2);
    await clock.advance(10);
    const before = reports.length;
    await clock.advance(10_000);
    expect(reports.length - before).toBe(2);
  });

  test("tells the holds", async () => {
    const hold = { name: "replica-not-in-sync", reason: "shard 2" };
    const { clock, cache, reports, start } = world(() => ({ steps: [], holds: [hold] }));
    cache.put("a", 1);
    start();
    await clock.advance(10);
    expect(reports).toEqual([{ holds: ["replica-not-in-sync"], failures: [] }]);
  });

  test("a failing lane stops itself alone, is told, and is tried again with backoff", async () => {
    const plan = {
      steps: [
        { do: "bad", lane: "shard-1" },
        { do: "never", lane: "shard-1" },
        { do: "good", lane: "shard-2" },
      ],
      holds: [],
    };
    const fail = async (step: Step) => {
      if (step.do === "bad") throw new Error("agent away");
    };
    const { clock, cache, acted, reports, start } = world(() => plan, fail);
    cache.put("a", 1);
    start();
    await clock.advance(1);
    expect(acted).toEqual(["bad", "good"]);
    expect(reports[0]?.failures.map(({ step }) => step.do)).toEqual(["bad"]);
    await clock.advance(5);
    expect(acted).toHaveLength(4);
  });

  test("decides nothing until the cache shows its last write", async () => {
    const { clock, cache, expectations, acted, start } = world(
      (value) => steps(`on ${value}`),
      async (_step, key) => {
        expectations.wrote(`test:${key}`, CONFIG_MAPS, {
          metadata: { namespace: "ns", name: "a", uid: "a", resourceVersion: "5" },
        });
      },
    );
    cache.put("a", 1);
    start();
    await clock.advance(10);
    cache.put("a", 2);
    await clock.advance(10_000);
    expect(acted).toEqual(["on 1"]);
    cache.put("a", 5);
    await clock.advance(10);
    expect(acted).toEqual(["on 1", "on 5"]);
  });

  test("takes no step once the term is over", async () => {
    const { clock, cache, acted, term, start } = world(
      () => steps("one", "two"),
      async () => term.end("by the test"),
    );
    cache.put("a", 1);
    const running = start();
    await clock.advance(60_000);
    expect(acted).toEqual(["one"]);
    const stopping = running.stop(0);
    await clock.advance(1);
    expect(await stopping).toEqual([]);
  });
});
