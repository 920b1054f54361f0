import { expect, test } from "bun:test";
import { pino } from "pino";
import { FakeClock } from "../clock/fake-clock.ts";
import type { Lead } from "./lease.ts";
import { Term } from "./lease-term.ts";
import { Manager, type ManagerOptions, type Service } from "./manager.ts";

const log = pino({ level: "silent" });

/** Everything writes down what happens to it, in one list. */
function world(options: Partial<ManagerOptions> = {}) {
  const clock = new FakeClock();
  const said: string[] = [];
  const leads: Lead[] = [];
  const until = async (signal: AbortSignal) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    if (signal.aborted) return;
    signal.addEventListener("abort", () => resolve(), { once: true });
    await promise;
  };
  const service = (name: string, ready?: Promise<void>): Service => ({
    name,
    run: async (signal) => {
      said.push(`${name} runs`);
      await until(signal);
      said.push(`${name} ends`);
    },
    ready: async () => ready,
  });
  const term = () =>
    new Term({ clock, token: 1, renewDeadlineMs: 1e9, since: { monotonic: clock.monotonic(), wall: clock.wall() } });
  const elector = {
    holder: undefined,
    run: async (lead: Lead, signal: AbortSignal) => {
      leads.push(lead);
      said.push("candidate");
      await until(signal);
      said.push("released");
    },
  };
  const controller = {
    name: "test",
    start: () => {
      said.push("controller runs");
      return {
        wake: (key: string) => said.push(`woken ${key}`),
        stop: async (graceMs: number) => {
          said.push(`controller stops within ${graceMs}`);
          return [];
        },
      };
    },
  };
  const manager = new Manager({
    caches: [service("cache")],
    services: [service("webhooks")],
    controllers: [controller],
    elector,
    log,
    ...options,
  });
  return { clock, said, leads, term, service, manager };
}

test("caches are synced before services run and before the lease is asked for; it ends in the other order", async () => {
  const synced = Promise.withResolvers<void>();
  const base = world();
  const { clock, said, manager } = world({ caches: [base.service("cache", synced.promise)] });
  const stop = new AbortController();
  const running = manager.run(stop.signal);
  await clock.advance(10);
  expect(said).toEqual([]);
  expect(base.said).toEqual(["cache runs"]);
  expect(manager.health).toEqual({ ready: false, leading: false, phase: "syncing" });
  synced.resolve();
  await clock.advance(10);
  expect(said).toEqual(["webhooks runs", "candidate"]);
  expect(manager.health).toEqual({ ready: true, leading: false, phase: "standby" });
  stop.abort();
  await running;
  expect(said.slice(2)).toEqual(["released", "webhooks ends"]);
  expect(base.said).toEqual(["cache runs", "cache ends"]);
  expect(manager.health.phase).toBe("stopped");
});

test("controllers run for a term: drained when told to stop, cut off when it is lost", async () => {
  const { clock, said, leads, term, manager } = world();
  const stop = new AbortController();
  const running = manager.run(stop.signal);
  await clock.advance(10);
  const [first, second] = [term(), term()];
  const leading = leads[0]?.(first);
  await clock.advance(1);
  expect(manager.health).toEqual({ ready: true, leading: true, phase: "leading" });
  manager.wake("test", "ns/a");
  first.end("lost");
  await leading;
  expect(manager.health.phase).toBe("standby");
  manager.wake("test", "ns/b");
  const again = leads[0]?.(second);
  await clock.advance(1);
  stop.abort();
  await again;
  await running;
  expect(said.filter((line) => /controller|woken/u.test(line))).toEqual([
    "controller runs",
    "woken ns/a",
    "controller stops within 0",
    "controller runs",
    "controller stops within 1500",
  ]);
});

test("a service that ends on its own stops everything, with its name in the error", async () => {
  const end = Promise.withResolvers<void>();
  const { clock, said, manager } = world({ services: [{ name: "webhooks", run: async () => end.promise }] });
  const running = manager.run(new AbortController().signal).then(String, String);
  await clock.advance(10);
  end.resolve();
  expect(await running).toContain("webhooks ended on its own");
  expect(said.at(-1)).toBe("cache ends");
});

test("told to stop while it syncs, it stops", async () => {
  const { clock, said, manager, service } = world();
  const never = new Promise<void>(() => {});
  const stuck = world({ caches: [service("stuck", never)] });
  const stop = new AbortController();
  const running = stuck.manager.run(stop.signal);
  await clock.advance(10);
  stop.abort();
  await running;
  expect(stuck.manager.health.phase).toBe("stopped");
  expect(said).toEqual(["stuck runs", "stuck ends"]);
  expect(manager.health.phase).toBe("idle");
});
