import { describe, expect, test } from "bun:test";
import { FakeClock } from "../clock/fake-clock.ts";
import { Registry } from "../metrics/metrics.ts";
import { type Failure, type QueueOptions, type RunResult, WorkQueue } from "./queue.ts";
import { queueMetrics } from "./queue-metrics.ts";

/** A queue whose runs end when the test says so. */
function harness(options: Partial<QueueOptions> = {}) {
  const clock = new FakeClock();
  const started: string[] = [];
  const failures: Failure[] = [];
  const open = new Map<string, { end: PromiseWithResolvers<RunResult>; signal: AbortSignal }>();
  const queue = new WorkQueue({
    name: "test",
    clock,
    random: () => 0,
    onFailure: (failure) => failures.push(failure),
    run: async (key, signal) => {
      started.push(key);
      const end = Promise.withResolvers<RunResult>();
      open.set(key, { end, signal });
      return end.promise.finally(() => open.delete(key));
    },
    ...options,
  });
  const finish = async (key: string, result: RunResult = {}) => {
    open.get(key)?.end.resolve(result);
    await clock.advance(0);
  };
  const fail = async (key: string) => {
    open.get(key)?.end.reject(new Error(`${key} failed`));
    await clock.advance(0);
  };
  return { clock, queue, started, failures, open, finish, fail };
}

describe("order", () => {
  test("a key added many times before it runs, runs once", async () => {
    const { queue, started, finish } = harness();
    for (let n = 0; n < 5; n += 1) queue.add("a");
    queue.start();
    expect(started).toEqual(["a"]);
    await finish("a");
    expect(started).toEqual(["a"]);
    expect(queue.depth).toBe(0);
  });

  test("an add during the run leads to one more run, after it", async () => {
    const { queue, started, finish } = harness();
    queue.start();
    queue.add("a");
    queue.add("a");
    queue.add("a");
    expect(started).toEqual(["a"]);
    await finish("a");
    expect(started).toEqual(["a", "a"]);
    await finish("a");
    expect(started).toHaveLength(2);
  });

  test("high goes before normal before low, and waiting makes up for it", async () => {
    const { clock, queue, started, finish } = harness({ workers: 1 });
    queue.add("low", { priority: "low" });
    await clock.advance(35_000);
    queue.add("normal");
    queue.add("high", { priority: "high" });
    queue.start();
    for (const key of ["high", "low", "normal"]) await finish(key);
    expect(started).toEqual(["high", "low", "normal"]);
  });

  test("an add of higher priority moves a waiting key forward", async () => {
    const { queue, started, finish } = harness({ workers: 1 });
    for (const key of ["a", "b", "c"]) queue.add(key);
    queue.add("c", { priority: "high" });
    queue.start();
    await finish("c");
    expect(started).toEqual(["c", "a"]);
  });

  test("a delayed key runs when its time has come; an earlier add brings it forward, a later one does not delay it", async () => {
    const { clock, queue, started } = harness();
    queue.start();
    queue.add("a", { afterMs: 5000 });
    queue.add("a", { afterMs: 1000 });
    queue.add("a", { afterMs: 9000 });
    await clock.advance(999);
    expect(started).toEqual([]);
    await clock.advance(1);
    expect(started).toEqual(["a"]);
  });

  test("a result can ask for another run", async () => {
    const { clock, queue, started, finish } = harness();
    queue.start();
    queue.add("a");
    await finish("a", { requeueAfterMs: 1000 });
    await clock.advance(1000);
    expect(started).toEqual(["a", "a"]);
  });
});

describe("failure", () => {
  test("a failing key waits 5 ms, 10 ms, 20 ms … at most 5 minutes, and starts over after a success", async () => {
    const { clock, queue, failures, fail, finish } = harness();
    queue.start();
    queue.add("a");
    for (let n = 0; n < 20; n += 1) {
      await fail("a");
      await clock.advance(5 * 60_000);
    }
    expect(failures.slice(0, 4).map(({ retryInMs }) => retryInMs)).toEqual([5, 10, 20, 40]);
    expect(failures.at(-1)?.retryInMs).toBe(5 * 60_000);
    await finish("a");
    queue.add("a");
    await fail("a");
    expect(failures.at(-1)).toMatchObject({ failures: 1, retryInMs: 5 });
  });

  test("jitter shortens the wait by up to 30 %", async () => {
    const { queue, failures, fail } = harness({ random: () => 1, backoff: { baseMs: 100 } });
    queue.start();
    queue.add("a");
    await fail("a");
    expect(failures[0]?.retryInMs).toBe(70);
  });

  test("news about a failing key bring it forward, but not faster than once a second", async () => {
    const { clock, queue, started, fail } = harness({ backoff: { baseMs: 60_000 } });
    queue.start();
    queue.add("a");
    queue.add("a");
    await fail("a");
    await clock.advance(999);
    expect(started).toHaveLength(1);
    await clock.advance(1);
    expect(started).toHaveLength(2);
    await fail("a");
    await clock.advance(500);
    queue.add("a");
    await clock.advance(499);
    expect(started).toHaveLength(2);
    await clock.advance(1);
    expect(started).toHaveLength(3);
  });

  test("a distant wish made during a failing run does not put off the retry", async () => {
    const { clock, queue, started, fail } = harness();
    queue.start();
    queue.add("a");
    queue.add("a", { afterMs: 60_000 });
    await fail("a");
    await clock.advance(5);
    expect(started).toEqual(["a", "a"]);
  });

  test("stuck runs lose their workers but keep their keys", async () => {
    const { clock, queue, started, open, finish } = harness({ workers: 2, runDeadlineMs: 1000 });
    queue.start();
    for (const key of ["stuck-1", "stuck-2", "b"]) queue.add(key);
    expect(started).toEqual(["stuck-1", "stuck-2"]);
    await clock.advance(1000);
    expect(open.get("stuck-1")?.signal.aborted).toBe(true);
    expect(started).toEqual(["stuck-1", "stuck-2", "b"]);
    queue.add("stuck-1");
    await finish("b");
    expect(started).toHaveLength(3);
    await finish("stuck-1");
    expect(started.at(-1)).toBe("stuck-1");
  });
});

describe("stop", () => {
  test("waits for what runs, starts nothing more", async () => {
    const { clock, queue, started, open, finish } = harness({ workers: 1 });
    queue.start();
    queue.add("a");
    queue.add("b");
    const stopping = queue.stop(5000);
    queue.add("c");
    await clock.advance(4999);
    expect(open.get("a")?.signal.aborted).toBe(false);
    await finish("a");
    expect(await stopping).toEqual([]);
    expect(started).toEqual(["a"]);
    expect(clock.pendingTimers).toBe(0);
  });

  test("aborts at the end of the grace and names what did not end", async () => {
    const { clock, queue, open } = harness();
    queue.start();
    queue.add("a");
    const stopping = queue.stop(100);
    await clock.advance(100);
    expect(await stopping).toEqual(["a"]);
    expect(open.get("a")?.signal.aborted).toBe(true);
  });
});

test("the metrics tell depth, running, retries and the oldest run", async () => {
  const registry = new Registry();
  const { clock, queue, fail } = harness({ workers: 1, metrics: queueMetrics(registry) });
  queue.start();
  queue.add("a");
  await fail("a");
  await clock.advance(5);
  queue.add("b");
  queue.add("c", { afterMs: 90_000 });
  await clock.advance(2000);
  const text = registry.text();
  for (const line of ["depth", "delayed", "running", "retries_total"]) {
    expect(text).toContain(`workqueue_${line}{queue="test"} 1`);
  }
  expect(text).toContain('workqueue_longest_running_processor_seconds{queue="test"} 2');
});
