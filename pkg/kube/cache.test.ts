/** What no honest API server does, or does too rarely to wait for: a scripted one does it. */
import { afterEach, expect, test } from "bun:test";
import { createServer, type ServerResponse } from "node:http";
import { Registry } from "../metrics/metrics.ts";
import { Cache, type CacheTiming } from "./cache.ts";
import { cacheMetrics } from "./cache-metrics.ts";
import { KubeClient } from "./client.ts";
import { CONFIG_MAPS, type LooseObject } from "./resource.ts";
import { KubeTransport } from "./transport.ts";
import { SourcedCredentials } from "./transport-credentials.ts";

interface Item {
  readonly name: string;
  readonly version: number;
  readonly uid?: string;
}

const cleanups: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

const objectOf = ({ name, version, uid = name }: Item) => ({
  metadata: { namespace: "ns", name, uid, resourceVersion: String(version) },
});

/** Answers lists with `items` as of `version`; a watch stays open for `send`, or does what `onWatch` says. */
class ScriptedServer {
  items: readonly Item[] = [];
  version = 10;
  onWatch: ((response: ServerResponse) => void) | undefined;
  readonly lists: string[] = [];
  readonly watches: URLSearchParams[] = [];
  readonly #open = new Set<ServerResponse>();
  readonly #server = createServer((request, response) => {
    const parameters = new URL(request.url ?? "/", "http://x").searchParams;
    if (parameters.get("watch") === "true") this.#watch(parameters, response);
    else this.#list(request.headers.accept ?? "", response);
  });

  async start(): Promise<KubeClient> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#server.listen(0, "127.0.0.1", resolve);
    await promise;
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new TypeError("not a TCP server");
    cleanups.push(() => {
      this.#server.closeAllConnections();
      this.#server.close();
    });
    const server = `http://127.0.0.1:${address.port}`;
    const credentials = new SourcedCredentials({});
    return new KubeClient(
      new KubeTransport({ server, userAgent: "test", namespace: "ns", tls: () => ({}), credentials }),
    );
  }

  send(type: string, object: object): void {
    for (const response of this.#open) response.write(`${JSON.stringify({ type, object })}\n`);
  }

  end(): void {
    for (const response of this.#open) response.end();
  }

  #list(accept: string, response: ServerResponse): void {
    this.lists.push(accept.includes("PartialObjectMetadata") ? "compare" : "list");
    const metadata = { resourceVersion: String(this.version) };
    response.end(JSON.stringify({ metadata, items: this.items.map(objectOf) }));
  }

  #watch(parameters: URLSearchParams, response: ServerResponse): void {
    this.watches.push(parameters);
    if (this.onWatch !== undefined) return this.onWatch(response);
    this.#open.add(response);
    response.on("close", () => this.#open.delete(response));
    response.flushHeaders();
  }
}

async function follow(server: ScriptedServer, timing: Partial<CacheTiming> = {}) {
  const registry = new Registry();
  const story: string[] = [];
  const cache = new Cache<LooseObject>(await server.start(), {
    resource: CONFIG_MAPS,
    timing: { backoffMs: 1, maxBackoffMs: 10, ...timing },
    observer: cacheMetrics(registry)(CONFIG_MAPS),
  });
  cache.subscribe(({ type, object }) => story.push(`${type} ${object.metadata.name}`));
  const stop = new AbortController();
  const running = cache.run(stop.signal);
  cleanups.push(async () => {
    stop.abort();
    await running;
  });
  await until(() => cache.synced && server.watches.length > 0);
  return { cache, story, metrics: () => registry.text() };
}

async function until(condition: () => boolean): Promise<void> {
  const giveUpAt = performance.now() + 4000;
  while (!condition()) {
    if (performance.now() > giveUpAt) throw new Error(`waited in vain for ${condition.toString()}`);
    await Bun.sleep(2);
  }
}

test("a watch goes on after the last bookmark, asks for bookmarks and for an end in good order", async () => {
  const server = new ScriptedServer();
  const { cache } = await follow(server, { watchMs: 300_000 });
  server.send("ADDED", objectOf({ name: "x", version: 11 }));
  server.send("BOOKMARK", { metadata: { resourceVersion: "500" } });
  await until(() => cache.size === 1);
  server.end();
  await until(() => server.watches.length === 2);
  const [first, second] = server.watches;
  expect(first?.get("resourceVersion")).toBe("10");
  expect(second?.get("resourceVersion")).toBe("500");
  expect(second?.get("allowWatchBookmarks")).toBe("true");
  expect(Number(second?.get("timeoutSeconds"))).toBeWithin(300, 601);
  expect(server.lists).toEqual(["list"]);
});

test("a change that the watch never showed is found by the comparison, counted and repaired", async () => {
  const server = new ScriptedServer();
  server.items = [
    { name: "kept", version: 5 },
    { name: "gone", version: 6 },
    { name: "changed", version: 7 },
  ];
  const { story, metrics } = await follow(server, { compareMs: 20, graceMs: 20 });
  await until(() => metrics().includes('cache_comparisons_total{kind="ConfigMap"} 1'));
  expect(metrics()).toContain('cache_missed_total{kind="ConfigMap"} 0');
  story.length = 0;
  server.items = [
    { name: "kept", version: 5 },
    { name: "changed", version: 20 },
    { name: "new", version: 21 },
  ];
  server.version = 22;
  await until(() => story.length === 3);
  expect(story.toSorted()).toEqual(["add new", "delete gone", "update changed"]);
  expect(metrics()).toContain('cache_missed_total{kind="ConfigMap"} 3');
  expect(metrics()).toContain('cache_lists_total{kind="ConfigMap",reason="missed"} 1');
});

test("a watch that is merely late is not blamed", async () => {
  const server = new ScriptedServer();
  server.items = [{ name: "x", version: 5 }];
  const { metrics } = await follow(server, { compareMs: 10, graceMs: 200 });
  server.items = [];
  server.version = 20;
  const comparisons = server.lists.length;
  await until(() => server.lists.length > comparisons);
  server.send("DELETED", objectOf({ name: "x", version: 20 }));
  await until(() => metrics().includes('cache_comparisons_total{kind="ConfigMap"} 1'));
  expect(metrics()).not.toContain('reason="missed"');
});

test("frames out of order lead to a new list", async () => {
  const server = new ScriptedServer();
  const { cache, metrics } = await follow(server);
  server.send("ADDED", objectOf({ name: "x", version: 15 }));
  await until(() => cache.size === 1);
  server.items = [
    { name: "x", version: 15 },
    { name: "y", version: 12 },
  ];
  server.version = 16;
  server.send("ADDED", objectOf({ name: "y", version: 12 }));
  await until(() => cache.size === 2);
  expect(metrics()).toContain('reason="disorder"} 1');
});

test("a frame sent twice is no disorder", async () => {
  const server = new ScriptedServer();
  const { cache, story } = await follow(server);
  for (let time = 0; time < 2; time += 1) server.send("ADDED", objectOf({ name: "x", version: 15 }));
  server.send("ADDED", objectOf({ name: "y", version: 16 }));
  server.send("ADDED", objectOf({ name: "x", version: 15 }));
  server.send("ADDED", objectOf({ name: "z", version: 17 }));
  await until(() => cache.size === 3);
  expect(story).toEqual(["add x", "add y", "add z"]);
  expect(server.lists).toEqual(["list"]);
});

test("one list from the past is not believed, a second one is: etcd was restored", async () => {
  const server = new ScriptedServer();
  server.items = [{ name: "x", version: 90 }];
  server.version = 100;
  const { cache, metrics } = await follow(server);
  server.items = [{ name: "x", version: 40 }];
  server.version = 50;
  server.send("ERROR", { kind: "Status", code: 410, reason: "Expired", message: "too old" });
  await until(() => cache.byKey("ns/x")?.metadata.resourceVersion === "40");
  expect(metrics()).toContain('cache_failures_total{kind="ConfigMap",code="bad-response"} 1');
  server.send("MODIFIED", objectOf({ name: "x", version: 51 }));
  await until(() => server.watches.length === 2);
  server.send("MODIFIED", objectOf({ name: "x", version: 51 }));
  await until(() => cache.byKey("ns/x")?.metadata.resourceVersion === "51");
});

test("a watch that is refused again and again leads to a new list, and never to a tight circle", async () => {
  const server = new ScriptedServer();
  const { metrics } = await follow(server, { backoffMs: 5, maxBackoffMs: 20 });
  server.onWatch = (response) => {
    response.writeHead(500);
    response.end();
  };
  server.end();
  await until(() => metrics().includes('reason="failures"'));
  server.onWatch = (response) => void response.end();
  const before = server.watches.length;
  const began = performance.now();
  await until(() => server.watches.length > before + 10);
  expect(performance.now() - began).toBeGreaterThan(10 * 5);
});

test("a frame that makes no sense ends that watch and not the cache", async () => {
  const server = new ScriptedServer();
  const { cache } = await follow(server);
  server.send("NONSENSE", {});
  await until(() => server.watches.length === 2);
  server.send("ADDED", { metadata: {} });
  await until(() => server.watches.length === 3);
  server.send("ADDED", objectOf({ name: "x", version: 15 }));
  await until(() => cache.size === 1);
});
