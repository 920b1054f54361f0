import { expect, test } from "bun:test";
import { pause, sleep, systemClock } from "./clock.ts";
import { FakeClock } from "./fake-clock.ts";

test("a sleep ends when its time has passed, not before", async () => {
  const clock = new FakeClock();
  let over = false;
  const sleeping = sleep(clock, 1000).then(() => {
    over = true;
  });
  await clock.advance(999);
  expect(over).toBe(false);
  await clock.advance(1);
  expect(over).toBe(true);
  await sleeping;
});

test("an aborted sleep rejects with the reason and leaves no timer", async () => {
  const clock = new FakeClock();
  const abort = new AbortController();
  const sleeping = sleep(clock, 1000, abort.signal);
  abort.abort(new Error("stopped by the test"));
  expect(await failure(sleeping)).toContain("stopped by the test");
  expect(clock.pendingTimers).toBe(0);
  expect(await failure(sleep(clock, 1000, abort.signal))).toContain("stopped by the test");
});

test("a pause says whether its time passed", async () => {
  const clock = new FakeClock();
  const abort = new AbortController();
  const first = pause(clock, 10, abort.signal);
  await clock.advance(10);
  expect(await first).toBe(true);
  const second = pause(clock, 10, abort.signal);
  abort.abort();
  expect(await second).toBe(false);
  expect(await pause(clock, 10, abort.signal)).toBe(false);
  expect(clock.pendingTimers).toBe(0);
});

test("timers fire in the order of their time, then of their making", async () => {
  const clock = new FakeClock();
  const seen: string[] = [];
  clock.after(20, () => seen.push("late"));
  clock.after(10, () => seen.push("early"));
  clock.after(10, () => seen.push("early too"));
  clock.after(5, () => clock.after(1, () => seen.push("made on the way")));
  await clock.advance(30);
  expect(seen).toEqual(["made on the way", "early", "early too", "late"]);
});

test("the system clock wakes and can be cancelled", async () => {
  const began = systemClock.monotonic();
  systemClock.after(1, () => expect.unreachable())();
  await sleep(systemClock, 5);
  expect(systemClock.monotonic() - began).toBeGreaterThanOrEqual(4);
  expect(systemClock.wall()).toBeGreaterThan(Date.UTC(2024, 0, 1));
});

async function failure(promise: Promise<void>): Promise<string> {
  return promise.then(
    () => "no failure",
    (error: unknown) => String(error),
  );
}
