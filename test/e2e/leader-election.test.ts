/** Two real processes on one Lease of a real API server: killed, stopped, frozen. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { leaseStore } from "../../pkg/kube/lease-store.ts";
import { LEASES, NAMESPACES } from "../../pkg/kube/resource.ts";
import { clientOf } from "../lib/kube.ts";
import { until } from "../lib/until.ts";

interface Line {
  readonly did: "start" | "command" | "refuse";
  readonly token: number;
  readonly at: number;
}

const client = clientOf();
const namespace = `leader-${Date.now().toString(36)}`;
const replicas: Replica[] = [];

class Replica {
  readonly lines: Line[] = [];
  readonly #child;
  readonly #reading: Promise<void>;

  constructor(lease: string, identity: string) {
    this.#child = Bun.spawn(
      [process.execPath, join(import.meta.dir, "leader-process.ts"), namespace, lease, identity],
      {
        stdout: "pipe",
        stderr: "inherit",
      },
    );
    this.#reading = this.#read();
    replicas.push(this);
  }

  async #read(): Promise<void> {
    let rest = "";
    const decoder = new TextDecoder();
    for await (const chunk of this.#child.stdout) {
      const parts = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = parts.pop() ?? "";
      this.lines.push(...parts.map((part) => JSON.parse(part) as Line));
    }
  }

  get commands(): Line[] {
    return this.lines.filter(({ did }) => did === "command");
  }

  signal(name: "SIGKILL" | "SIGTERM" | "SIGSTOP" | "SIGCONT"): void {
    this.#child.kill(name);
  }

  async ended(): Promise<void> {
    await this.#child.exited;
    await this.#reading;
  }
}

/** The first one leads, the second one waits. */
async function pair(lease: string): Promise<[Replica, Replica]> {
  const first = new Replica(lease, "first");
  await until("the first leads", () => first.commands.length > 0);
  const second = new Replica(lease, "second");
  await until("the second runs", () => second.lines.length > 0);
  return [first, second];
}

beforeAll(async () => {
  await client.create(NAMESPACES, { metadata: { name: namespace } });
});

afterEach(async () => {
  for (const replica of replicas.splice(0)) {
    replica.signal("SIGKILL");
    await replica.ended();
  }
});

afterAll(async () => {
  await client.delete(NAMESPACES, { name: namespace });
  client.close();
});

describe("two replicas", () => {
  test("SIGTERM: the next one leads within 3 s, with a higher token", async () => {
    const [first, second] = await pair("terminated");
    const at = Date.now();
    first.signal("SIGTERM");
    await until("the second leads", () => second.commands.length > 0);
    const took = (second.commands[0]?.at ?? 0) - at;
    console.log(`released after SIGTERM: the next one leads after ${took} ms`);
    expect(took).toBeLessThan(3000);
    await first.ended();
    expect(second.commands[0]?.token).toBeGreaterThan(first.commands.at(-1)?.token ?? 0);
    expect(first.commands.at(-1)?.at).toBeLessThanOrEqual(second.commands[0]?.at ?? 0);
  }, 300_000);

  test("kill -9: the other one leads within 25 s", async () => {
    const [first, second] = await pair("killed");
    const at = Date.now();
    first.signal("SIGKILL");
    await until("the second leads", () => second.commands.length > 0);
    const took = (second.commands[0]?.at ?? 0) - at;
    console.log(`killed: the next one leads after ${took} ms`);
    expect(took).toBeLessThan(25_000);
    expect(second.commands[0]?.token).toBeGreaterThan(first.commands.at(-1)?.token ?? 0);
  }, 300_000);

  test("frozen and thawed: it commands nothing more", async () => {
    const [first, second] = await pair("frozen");
    first.signal("SIGSTOP");
    const frozenAt = Date.now();
    await until("the second leads", () => second.commands.length > 0);
    const before = first.lines.length;
    first.signal("SIGCONT");
    await until("the first refuses", () => first.lines.some(({ did }) => did === "refuse"));
    const refusedAt = Date.now();
    await until("the second commanded meanwhile", () => (second.commands.at(-1)?.at ?? 0) > refusedAt);
    const after = first.lines.slice(before);
    expect(after.filter(({ did }) => did === "command").every(({ at }) => at <= frozenAt + 50)).toBe(true);
    expect(first.commands.filter(({ at }) => at > frozenAt + 1000)).toEqual([]);
  }, 300_000);

  test("never do two command at the same time", async () => {
    const [first, second] = await pair("handed");
    const third = new Replica("handed", "third");
    await until("the third runs", () => third.lines.length > 0);
    first.signal("SIGTERM");
    await until("another leads", () => second.commands.length + third.commands.length > 5);
    const next = second.commands.length > 0 ? second : third;
    next.signal("SIGTERM");
    await next.ended();
    const last = next === second ? third : second;
    await until("the last leads", () => last.commands.length > 5);
    const all = [first, next, last].flatMap(({ commands }) => commands).toSorted((a, b) => a.at - b.at);
    const tokens = all.map(({ token }) => token);
    expect(tokens).toEqual(tokens.toSorted((a, b) => a - b));
    expect(new Set(tokens).size).toBe(3);
  }, 300_000);

  test("the Lease deleted: somebody leads again, with a higher token", async () => {
    const [first, second] = await pair("deleted");
    const token = first.commands.at(-1)?.token ?? 0;
    await client.delete(LEASES, { namespace, name: "deleted" });
    const newer = () => [...first.commands, ...second.commands].some((line) => line.token > token);
    await until("a new term", newer);
  }, 300_000);
});

test("what the store reads is what it wrote, and a stale write is refused", async () => {
  const store = leaseStore(client, { namespace, name: "stored" });
  const limits = { signal: new AbortController().signal, deadlineMs: 30_000 };
  expect((await store.read(limits)).record).toBeUndefined();
  const claim = {
    holder: "me",
    durationMs: 15_000,
    transitions: 7,
    acquiredAt: "2026-01-02T03:04:05.000000Z",
    renewedAt: "2026-01-02T03:04:06.000000Z",
  };
  const written = await store.write(claim, undefined, limits);
  expect(written).toMatchObject(claim);
  expect((await store.read(limits)).record).toEqual(written);
  await store.write({ ...claim, transitions: 8 }, written, limits);
  const stale = await store.write(claim, written, limits).catch((error: unknown) => String(error));
  expect(stale).toContain("[conflict] update Lease");
});
