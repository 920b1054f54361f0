import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { pino } from "pino";
import { FakeClock } from "../clock/fake-clock.ts";
import { Registry } from "../metrics/metrics.ts";
import { KubeError } from "./kube-error.ts";
import { LeaderElector } from "./lease.ts";
import { leaseMetrics } from "./lease-metrics.ts";
import { type LeaseRecord, nextToken } from "./lease-record.ts";
import type { LeaseSighting, LeaseStore } from "./lease-store.ts";
import type { Term } from "./lease-term.ts";

const log = pino({ level: "silent" });

/** The one Lease of a model API server; each replica reaches it through its own link, which can be cut. */
class LeaseModel {
  record: LeaseRecord | undefined;
  version = 0;
  readonly links: Link[] = [];

  set(record: LeaseRecord | undefined): void {
    this.version += 1;
    this.record = record === undefined ? undefined : { ...record, resourceVersion: String(this.version) };
    for (const link of this.links) link.tell();
  }

  sighting(): LeaseSighting {
    return { record: this.record, resourceVersion: String(this.version) };
  }
}

class Link implements LeaseStore {
  readonly name = "ns/lease";
  readonly #model: LeaseModel;
  readonly #listeners = new Set<(sighting: LeaseSighting) => void>();
  readonly #healed = Promise.withResolvers<void>();
  cut = false;
  watchCut = false;
  /** Requests get no answer at all, and no deadline ends them. */
  hangs = false;

  constructor(model: LeaseModel) {
    this.#model = model;
    model.links.push(this);
  }

  tell(): void {
    if (this.cut || this.watchCut) return;
    for (const on of this.#listeners) on(this.#model.sighting());
  }

  async read(): Promise<LeaseSighting> {
    this.#reach();
    return this.#model.sighting();
  }

  async write(claim: Parameters<LeaseStore["write"]>[0], previous: LeaseRecord | undefined): Promise<LeaseRecord> {
    this.#reach();
    if (this.hangs) await this.#healed.promise;
    if (previous?.resourceVersion !== this.#model.record?.resourceVersion) {
      throw new KubeError({ code: "conflict", action: "update Lease", message: "the object has been modified" });
    }
    this.#model.set({ ...claim, uid: previous?.uid ?? `uid-${this.#model.version}`, resourceVersion: "" });
    if (this.#model.record === undefined) throw new Error("unreachable");
    return this.#model.record;
  }

  async watch(on: (sighting: LeaseSighting) => void, signal: AbortSignal): Promise<void> {
    this.#reach();
    on(this.#model.sighting());
    this.#listeners.add(on);
    const { promise, resolve } = Promise.withResolvers<void>();
    signal.addEventListener("abort", () => resolve(), { once: true });
    await promise;
    this.#listeners.delete(on);
  }

  heal(): void {
    this.hangs = false;
    this.#healed.resolve();
  }

  #reach(): void {
    if (this.cut) throw new KubeError({ code: "unreachable", action: "reach the API server", message: "cut" });
  }
}

interface Replica {
  readonly link: Link;
  readonly clock: FakeClock;
  readonly elector: LeaderElector;
  readonly terms: Term[];
  readonly leads: () => boolean;
  readonly stop: () => Promise<void>;
}

/** By default all replicas share one clock; with one of its own a replica can be frozen. */
function replica(model: LeaseModel, identity: string, clock: FakeClock, registry = new Registry()): Replica {
  const link = new Link(model);
  const terms: Term[] = [];
  const abort = new AbortController();
  const metrics = leaseMetrics(registry);
  const elector = new LeaderElector({ store: link, identity, log, clock, random: () => 0.5, metrics });
  const running = elector.run(async (term) => {
    terms.push(term);
    const { promise, resolve } = Promise.withResolvers<void>();
    AbortSignal.any([term.signal, abort.signal]).addEventListener("abort", () => resolve(), { once: true });
    await promise;
  }, abort.signal);
  const stop = async () => {
    abort.abort();
    await clock.advance(10);
    await running;
  };
  return { link, clock, elector, terms, leads: () => terms.at(-1)?.valid() === true, stop };
}

describe("taking over", () => {
  test("the first replica leads, the second only watches, the term is kept", async () => {
    const clock = new FakeClock();
    const model = new LeaseModel();
    const a = replica(model, "a", clock);
    await clock.advance(10);
    const b = replica(model, "b", clock);
    await clock.advance(120_000);
    expect([a.leads(), b.leads()]).toEqual([true, false]);
    expect(a.terms).toHaveLength(1);
    expect(b.elector.holder).toEqual({ identity: "a", token: a.terms[0]?.token ?? 0 });
    await Promise.all([a.stop(), b.stop()]);
  });

  test("a Lease made anew by somebody who never saw the one before has a higher token", async () => {
    const clock = new FakeClock();
    const model = new LeaseModel();
    const a = replica(model, "a", clock);
    await clock.advance(1100);
    expect(a.leads()).toBe(true);
    a.link.cut = true;
    model.set(undefined);
    const b = replica(model, "b", clock);
    await clock.advance(1000);
    expect(b.terms[0]?.token).toBeGreaterThan(a.terms[0]?.token ?? Infinity);
    a.link.cut = false;
    await Promise.all([a.stop(), b.stop()]);
  });

  test("one that waits says that it does not lead, rather than nothing", async () => {
    const clock = new FakeClock();
    const model = new LeaseModel();
    const registry = new Registry();
    const a = replica(model, "a", clock);
    await clock.advance(10);
    const b = replica(model, "b", clock, registry);
    await clock.advance(10);
    expect(registry.text()).toContain('leader_election_leading{lease="ns/lease"} 0');
    await Promise.all([a.stop(), b.stop()]);
  });

  test("a released lease is taken at once, with a higher token", async () => {
    const clock = new FakeClock();
    const model = new LeaseModel();
    const a = replica(model, "a", clock);
    await clock.advance(10);
    const b = replica(model, "b", clock);
    await clock.advance(5000);
    await a.stop();
    await clock.advance(10);
    expect([a.leads(), b.leads()]).toEqual([false, true]);
    expect(b.terms[0]?.token).toBeGreaterThan(a.terms[0]?.token ?? 0);
    await b.stop();
    expect(model.record?.holder).toBe("");
  });

  test("a dead leader is replaced when its lease has run out, and not before its own deadline", async () => {
    const clock = new FakeClock();
    const model = new LeaseModel();
    const a = replica(model, "a", clock);
    await clock.advance(10);
    const b = replica(model, "b", clock);
    await clock.advance(5000);
    a.link.cut = true;
    const cutAt = clock.monotonic();
    while (a.leads()) await clock.advance(100);
    expect(clock.monotonic() - cutAt).toBeLessThanOrEqual(10_100);
    expect(b.leads()).toBe(false);
    while (!b.leads()) await clock.advance(100);
    expect(clock.monotonic() - cutAt).toBeLessThanOrEqual(15_200);
    a.link.cut = false;
    await clock.advance(10_000);
    expect([a.leads(), b.leads()]).toEqual([false, true]);
    await Promise.all([a.stop(), b.stop()]);
  });

  test("without a watch a release is still noticed by looking", async () => {
    const clock = new FakeClock();
    const model = new LeaseModel();
    const a = replica(model, "a", clock);
    await clock.advance(10);
    const b = replica(model, "b", clock);
    b.link.watchCut = true;
    await clock.advance(20_000);
    expect(b.leads()).toBe(false);
    await a.stop();
    await clock.advance(2500);
    expect(b.leads()).toBe(true);
    await b.stop();
  });

  test("a wall clock that is hours off changes nothing", async () => {
    const model = new LeaseModel();
    const clock = new FakeClock();
    const skewed = new FakeClock(Date.UTC(2031, 5, 1));
    const both = async (ms: number) => {
      for (let passed = 0; passed < ms; passed += 50) {
        await clock.advance(50);
        await skewed.advance(50);
      }
    };
    const a = replica(model, "a", clock);
    await both(50);
    const b = replica(model, "b", skewed);
    await both(60_000);
    expect([a.leads(), b.leads()]).toEqual([true, false]);
    await a.stop();
    await both(100);
    expect(b.leads()).toBe(true);
    expect(b.terms[0]?.token).toBeGreaterThan(a.terms[0]?.token ?? 0);
    await b.stop();
  });
});

describe("losing", () => {
  test("a leader that was frozen refuses to command before any of its timers ran", async () => {
    const model = new LeaseModel();
    const clock = new FakeClock();
    const a = replica(model, "a", clock);
    await clock.advance(3000);
    const term = a.terms[0];
    expect(term?.check()).toBe(term?.token ?? -1);
    clock.freeze(10_001);
    expect(() => term?.check()).toThrow("not renewed in time");
    expect(term?.signal.aborted).toBe(true);
    await a.stop();
  });

  test("time that only the wall clock counted, as in a suspended machine, ends the term too", async () => {
    const clock = new FakeClock();
    const a = replica(new LeaseModel(), "a", clock);
    await clock.advance(3000);
    clock.wallOffset += 60_000;
    expect(() => a.terms[0]?.check()).toThrow("term");
    await clock.advance(5000);
    expect(a.terms).toHaveLength(2);
    expect(a.terms[1]?.token).toBeGreaterThan(a.terms[0]?.token ?? 0);
    await a.stop();
  });

  test("a leader that sees another holder is deposed at once", async () => {
    const clock = new FakeClock();
    const model = new LeaseModel();
    const a = replica(model, "a", clock);
    await clock.advance(1100);
    if (model.record !== undefined) model.set({ ...model.record, holder: "usurper", renewedAt: "later" });
    await clock.advance(1);
    expect(a.terms[0]?.signal.aborted).toBe(true);
    expect(() => a.terms[0]?.check()).toThrow("held by usurper");
    await a.stop();
    expect(model.record?.holder).toBe("usurper");
  });

  test("a deleted lease ends the term; the next token is still higher", async () => {
    const clock = new FakeClock();
    const model = new LeaseModel();
    const a = replica(model, "a", clock);
    await clock.advance(1100);
    model.set(undefined);
    await clock.advance(1);
    expect(a.leads()).toBe(false);
    await clock.advance(20_000);
    expect(a.leads()).toBe(true);
    expect(a.terms[1]?.token).toBeGreaterThan(a.terms[0]?.token ?? 0);
    await a.stop();
  });

  test("a term ends at its deadline while a renewal hangs", async () => {
    const clock = new FakeClock();
    const a = replica(new LeaseModel(), "a", clock);
    await clock.advance(3000);
    a.link.hangs = true;
    await clock.advance(9999);
    expect(a.terms[0]?.signal.aborted).toBe(false);
    await clock.advance(1);
    expect(a.terms[0]?.signal.aborted).toBe(true);
    a.link.heal();
    await clock.advance(100);
    expect(a.leads()).toBe(true);
    expect(a.terms).toHaveLength(2);
    await a.stop();
  });

  test("a lease that a stranger touched is released all the same", async () => {
    const clock = new FakeClock();
    const model = new LeaseModel();
    const a = replica(model, "a", clock);
    await clock.advance(3000);
    a.link.watchCut = true;
    if (model.record !== undefined) model.set(model.record);
    await a.stop();
    expect(model.record?.holder).toBe("");
  });

  test("a short outage costs no term", async () => {
    const clock = new FakeClock();
    const a = replica(new LeaseModel(), "a", clock);
    await clock.advance(3000);
    a.link.cut = true;
    await clock.advance(7000);
    a.link.cut = false;
    await clock.advance(30_000);
    expect(a.terms).toHaveLength(1);
    expect(a.leads()).toBe(true);
    await a.stop();
  });
});

test("a token never falls behind, not even when the Lease was lost with its count", () => {
  const now = Date.UTC(2026, 0, 1);
  expect(nextToken(0, now)).toBeGreaterThan(60_000_000);
  expect(nextToken(nextToken(0, now), now)).toBe(nextToken(0, now) + 1);
  expect(nextToken(5, Date.UTC(1970, 0, 1))).toBe(6);
  expect(nextToken(0, Date.UTC(2300, 0, 1))).toBe(2 ** 31 - 1);
});

const FAULTS = {
  none: () => {},
  cut: ({ link }) => {
    link.cut = true;
  },
  heal: ({ link }) => {
    link.cut = false;
  },
  "watch-cut": ({ link }) => {
    link.watchCut = !link.watchCut;
  },
  hang: ({ link }) => {
    link.hangs = true;
  },
  freeze: ({ clock }, ms) => clock.freeze(ms),
} as const satisfies Record<string, (victim: Replica, ms: number) => void>;

interface Fault {
  readonly who: number;
  readonly what: keyof typeof FAULTS;
  readonly ms: number;
}

const fault: fc.Arbitrary<Fault> = fc.record({
  who: fc.nat(2),
  what: fc.constantFrom("none", "cut", "heal", "watch-cut", "hang", "freeze"),
  ms: fc.integer({ min: 50, max: 20_000 }),
});

/** Applies one fault, then lets the time pass for all; a frozen replica's timers do not run meanwhile. */
async function endure(replicas: readonly Replica[], { who, what, ms }: Fault): Promise<void> {
  const victim = replicas[who];
  if (victim === undefined) return;
  FAULTS[what](victim, ms);
  const awake = what === "freeze" ? replicas.filter((each) => each !== victim) : replicas;
  for (let passed = 0; passed < ms; passed += 250) {
    for (const each of awake) await each.clock.advance(250);
    expect(replicas.filter((each) => each.leads()).length).toBeLessThanOrEqual(1);
  }
}

test("whatever is cut or frozen, never two lead at once, and tokens only rise", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fault, { maxLength: 12 }), async (faults) => {
      const model = new LeaseModel();
      const replicas = ["a", "b", "c"].map((name) => replica(model, name, new FakeClock()));
      for (const each of faults) await endure(replicas, each);
      for (const { link } of replicas) {
        link.cut = false;
        link.heal();
      }
      await endure(replicas, { who: 0, what: "none", ms: 40_000 });
      expect(replicas.filter((each) => each.leads())).toHaveLength(1);
      const tokens = replicas.flatMap(({ terms }) => terms.map(({ token }) => token));
      expect(new Set(tokens).size).toBe(tokens.length);
      for (const each of replicas) await each.stop();
    }),
    { numRuns: 25 },
  );
});
