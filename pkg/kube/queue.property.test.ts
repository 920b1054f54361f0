import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { FakeClock } from "../clock/fake-clock.ts";
import { type RunResult, WorkQueue } from "./queue.ts";
import { Heap } from "./queue-heap.ts";

const KEYS = ["a", "b", "c", "d"] as const;
const WORKERS = 2;

const operation = fc.oneof(
  fc.record({
    do: fc.constant("add" as const),
    key: fc.constantFrom(...KEYS),
    afterMs: fc.constantFrom(0, 0, 10, 1000),
    priority: fc.constantFrom("low" as const, "normal" as const, "high" as const),
  }),
  fc.record({ do: fc.constant("succeed" as const), key: fc.constantFrom(...KEYS) }),
  fc.record({ do: fc.constant("fail" as const), key: fc.constantFrom(...KEYS) }),
  fc.record({ do: fc.constant("pass" as const), ms: fc.integer({ min: 1, max: 5000 }) }),
);
type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never;

/** What the world outside sees of a queue: when keys were wanted, when they ran. */
class World {
  readonly clock = new FakeClock();
  readonly open = new Map<string, PromiseWithResolvers<RunResult>>();
  readonly wantedAt = new Map<string, number>();
  readonly ranAt = new Map<string, number>();
  runs = 0;
  reasonsToRun = 0;
  readonly queue = new WorkQueue({
    name: "property",
    clock: this.clock,
    random: () => 0.5,
    workers: WORKERS,
    runDeadlineMs: 1e12,
    run: async (key) => {
      expect(this.open.has(key)).toBe(false);
      expect(this.open.size).toBeLessThan(WORKERS);
      this.runs += 1;
      this.ranAt.set(key, this.runs);
      const end = Promise.withResolvers<RunResult>();
      this.open.set(key, end);
      return end.promise;
    },
  });

  async apply(step: Operation): Promise<void> {
    switch (step.do) {
      case "add":
        this.wantedAt.set(step.key, this.runs);
        this.reasonsToRun += 1;
        this.queue.add(step.key, step);
        return;
      case "pass":
        await this.clock.advance(step.ms);
        return;
      case "succeed":
      case "fail":
        await this.end(step.key, step.do);
    }
  }

  async end(key: string, how: "succeed" | "fail"): Promise<void> {
    const end = this.open.get(key);
    if (end === undefined) return;
    this.open.delete(key);
    if (how === "fail") this.reasonsToRun += 1;
    if (how === "succeed") end.resolve({});
    else end.reject(new Error("failed by the test"));
    await this.clock.advance(0);
  }

  async drain(): Promise<void> {
    for (let turn = 0; turn < 100; turn += 1) {
      for (const key of KEYS) await this.end(key, "succeed");
      await this.clock.advance(1000);
    }
  }
}

test("one run per key at a time, no add is lost, nothing runs without a reason", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(operation, { maxLength: 60 }), fc.nat(20), async (steps, startAt) => {
      const world = new World();
      for (const [index, step] of steps.entries()) {
        if (index === startAt) world.queue.start();
        await world.apply(step);
      }
      if (startAt >= steps.length) world.queue.start();
      await world.drain();
      for (const [key, wanted] of world.wantedAt) expect(world.ranAt.get(key)).toBeGreaterThan(wanted);
      expect(world.runs).toBeLessThanOrEqual(world.reasonsToRun);
      expect(world.queue.depth).toBe(0);
      expect(world.clock.pendingTimers).toBe(0);
    }),
    { numRuns: 150 },
  );
});

test("a heap gives back what went in, by rank and then by age", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 9 })), (ranks) => {
      const heap = new Heap<number>();
      for (const [index, rank] of ranks.entries()) heap.push(rank, rank * 1000 + index);
      const out = ranks.map(() => heap.pop() ?? -1);
      expect(out).toEqual(out.toSorted((a, b) => a - b));
      expect(heap.pop()).toBeUndefined();
    }),
  );
});
