import { expect, test } from "bun:test";
import { Schedule } from "./queue-schedule.ts";

test("a busy key with distant wishes does not fill the memory", () => {
  const schedule = new Schedule();
  for (let now = 0; now < 50_000; now += 1) {
    schedule.want({ key: "a", due: now + 600_000, priority: "low" }, now);
    schedule.want({ key: "a", due: now, priority: "normal" }, now);
    expect(schedule.take(now)?.key).toBe("a");
  }
  schedule.want({ key: "b", due: 60_000, priority: "normal" }, 50_000);
  expect(schedule.entryCount).toBeLessThan(2000);
  expect(schedule.take(59_999)).toBeUndefined();
  expect(schedule.take(60_000)?.key).toBe("b");
  expect([schedule.readyCount, schedule.delayedCount]).toEqual([0, 0]);
});

test("a blocked key keeps its wish until it is unblocked", () => {
  const schedule = new Schedule();
  schedule.block("a");
  schedule.want({ key: "a", due: 5, priority: "normal" }, 0);
  expect(schedule.take(10)).toBeUndefined();
  expect(schedule.readyCount).toBe(0);
  schedule.unblock("a", 10);
  expect(schedule.readyCount).toBe(1);
  expect(schedule.take(10)).toEqual({ key: "a", due: 5, priority: "normal" });
});
