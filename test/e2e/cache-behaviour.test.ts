/** What a cache shows its users, against the real API server. */
import { afterAll, expect, test } from "bun:test";
import { Cache, type CacheChange, type CacheOptions } from "../../pkg/kube/cache.ts";
import { byLabel } from "../../pkg/kube/cache-index.ts";
import type { KubeClient } from "../../pkg/kube/client.ts";
import { CONFIG_MAPS, type LooseObject, parseLoose, typed } from "../../pkg/kube/resource.ts";
import { FaultProxy } from "../lib/fault-proxy.ts";
import { clientOf, ownIn, withNamespace } from "../lib/kube.ts";
import { until } from "../lib/until.ts";

const client = clientOf();
afterAll(() => client.close());

interface Following<I extends string> {
  readonly cache: Cache<LooseObject, I>;
  /** `add x`, `update x`, `delete x` */
  readonly story: string[];
}

async function following<I extends string = never>(
  options: Omit<CacheOptions<LooseObject, I>, "resource"> & { readonly client?: KubeClient },
  work: (following: Following<I>) => Promise<void>,
): Promise<void> {
  const stop = new AbortController();
  const cache = new Cache<LooseObject, I>(options.client ?? client, { resource: CONFIG_MAPS, ...options });
  const story: string[] = [];
  cache.subscribe((change: CacheChange<LooseObject>) => story.push(`${change.type} ${change.object.metadata.name}`));
  const running = cache.run(stop.signal);
  try {
    await cache.whenSynced(AbortSignal.timeout(60_000));
    await work({ cache, story });
  } finally {
    stop.abort();
    await running;
  }
}

const configMap = (namespace: string, name: string, labels: Record<string, string> = {}) => ({
  metadata: { namespace, name, labels },
  data: { name },
});

test("an object that leaves the selection is deleted, and added when it comes back", async () => {
  await withNamespace(client, async (namespace) => {
    const ref = { namespace, name: "x" };
    await client.create(CONFIG_MAPS, configMap(namespace, "x", { team: "a" }));
    await client.create(CONFIG_MAPS, configMap(namespace, "y", { team: "b" }));
    await following({ selection: { namespace, labelSelector: "team=a" } }, async ({ cache, story }) => {
      expect(story).toEqual(["add x"]);
      for (const team of ["b", "a"]) {
        await client.patch(CONFIG_MAPS, ref, { type: "merge", body: { metadata: { labels: { team } } } });
      }
      await until("it came back", () => story.length === 3);
      expect(story).toEqual(["add x", "delete x", "add x"]);
      expect(cache.get(ref)?.metadata.labels).toEqual({ team: "a" });
    });
  });
});

test("indexes and pages", async () => {
  await withNamespace(client, async (namespace) => {
    for (let n = 0; n < 12; n += 1) {
      await client.create(CONFIG_MAPS, configMap(namespace, `c-${n}`, { team: n % 3 === 0 ? "a" : "b" }));
    }
    const options = { selection: ownIn(namespace), pageSize: 5, indexes: { team: byLabel("team") } };
    await following(options, async ({ cache, story }) => {
      expect(story).toHaveLength(12);
      expect(cache.byIndex("team", `${namespace}/a`)).toHaveLength(4);
      const ref = { namespace, name: "c-0" };
      await client.patch(CONFIG_MAPS, ref, { type: "merge", body: { metadata: { labels: { team: "b" } } } });
      await until("the index follows", () => cache.byIndex("team", `${namespace}/b`).length === 9);
      expect(cache.byIndex("team", `${namespace}/a`)).toHaveLength(3);
    });
  });
});

test("an object deleted and made anew while nobody looked is a deletion and an addition", async () => {
  await withNamespace(client, async (namespace) => {
    const proxy = await FaultProxy.start({ upstream: client.transport.connection });
    const faulty = clientOf(proxy.connection);
    const timing = { backoffMs: 20, maxBackoffMs: 100, deadlineMs: 1000 };
    const made = await client.create(CONFIG_MAPS, configMap(namespace, "x"));
    try {
      await following({ client: faulty, selection: ownIn(namespace), timing }, async ({ cache, story }) => {
        proxy.set({ kind: "refuse", status: 410, times: 3 });
        proxy.cut();
        await client.delete(CONFIG_MAPS, { namespace, name: "x" });
        const anew = await client.create(CONFIG_MAPS, configMap(namespace, "x"));
        proxy.clear();
        await until("the new one is known", () => cache.get(anew.metadata)?.metadata.uid === anew.metadata.uid);
        expect(anew.metadata.uid).not.toBe(made.metadata.uid);
        expect(story).toEqual(["add x", "delete x", "add x"]);
      });
    } finally {
      faulty.close();
      await proxy.close();
    }
  });
});

test("an object that cannot be read is told of, and hides no other", async () => {
  await withNamespace(client, async (namespace) => {
    const stop = new AbortController();
    const unreadable: string[] = [];
    const resource = typed(CONFIG_MAPS, (value) => {
      const object = parseLoose(value);
      if (object.metadata.name === "bad") throw new Error("cannot be read");
      return object;
    });
    const cache = new Cache(client, {
      resource,
      selection: ownIn(namespace),
      observer: { unreadable: (key) => unreadable.push(key) },
    });
    await client.create(CONFIG_MAPS, configMap(namespace, "bad"));
    const running = cache.run(stop.signal);
    await cache.whenSynced(AbortSignal.timeout(60_000));
    await client.patch(CONFIG_MAPS, { namespace, name: "bad" }, { type: "merge", body: { data: { more: "1" } } });
    await client.create(CONFIG_MAPS, configMap(namespace, "good"));
    await until("the good one is there", () => cache.byKey(`${namespace}/good`) !== undefined);
    expect(unreadable).toEqual([`${namespace}/bad`, `${namespace}/bad`]);
    expect(cache.list().map((object) => object.metadata.name)).toEqual(["good"]);
    stop.abort();
    await running;
  });
});

test("a subscriber that throws is told of and disturbs no other", async () => {
  await withNamespace(client, async (namespace) => {
    const failed: unknown[] = [];
    const observer = { subscriberFailed: (error: unknown) => failed.push(error) };
    await following({ selection: ownIn(namespace), observer }, async ({ cache, story }) => {
      cache.subscribe(() => {
        throw new Error("a bug of ours");
      });
      await client.create(CONFIG_MAPS, configMap(namespace, "x"));
      await until("the other one heard", () => story.includes("add x"));
      expect(failed).toHaveLength(1);
    });
  });
});

test("a late subscriber hears what is there, and nothing after it left", async () => {
  await withNamespace(client, async (namespace) => {
    await client.create(CONFIG_MAPS, configMap(namespace, "x"));
    await following({ selection: ownIn(namespace) }, async ({ cache, story }) => {
      const late: string[] = [];
      const leave = cache.subscribe((change) => late.push(change.type));
      expect(late).toEqual(["add"]);
      leave();
      await client.create(CONFIG_MAPS, configMap(namespace, "y"));
      await until("the first one heard of y", () => story.includes("add y"));
      expect(late).toEqual(["add"]);
    });
  });
});
