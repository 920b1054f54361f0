import { expect, test } from "bun:test";
import { windowNow } from "./window.ts";

const at = (window: string, now: string) => {
  const { open, opensAt } = windowNow(window, new Date(now));
  return open ? "open" : opensAt?.toISOString();
};

test("an empty window is always open", () => {
  expect(at("", "2026-05-01T12:00:00Z")).toBe("open");
});

test("every minute that is named opens it for an hour", () => {
  expect(at("0 4 * * *", "2026-05-01T03:59:59Z")).toBe("2026-05-01T04:00:00.000Z");
  expect(at("0 4 * * *", "2026-05-01T04:00:00Z")).toBe("open");
  expect(at("0 4 * * *", "2026-05-01T04:59:59Z")).toBe("open");
  expect(at("0 4 * * *", "2026-05-01T05:00:00Z")).toBe("2026-05-02T04:00:00.000Z");
  expect(at("0 22-23 * * *", "2026-05-01T23:59:00Z")).toBe("open");
});

test("steps, lists, ranges and weekdays are cron's", () => {
  // The first of May 2026 is a Friday.
  expect(at("0 4 * * 6,0", "2026-05-01T12:00:00Z")).toBe("2026-05-02T04:00:00.000Z");
  expect(at("0 4 * * 7", "2026-05-01T12:00:00Z")).toBe("2026-05-03T04:00:00.000Z");
  expect(at("0 */6 * * *", "2026-05-01T13:30:00Z")).toBe("2026-05-01T18:00:00.000Z");
  expect(at("30 2/12 * * *", "2026-05-01T04:00:00Z")).toBe("2026-05-01T14:30:00.000Z");
  expect(at("0 4 8 5 *", "2026-05-01T12:00:00Z")).toBe("2026-05-08T04:00:00.000Z");
});

test("with a day of the month and a weekday either is enough", () => {
  expect(at("0 4 15 * 6", "2026-05-01T12:00:00Z")).toBe("2026-05-02T04:00:00.000Z");
});

test("one that does not open within days is not looked for", () => {
  expect(at("0 4 1 1 *", "2026-05-01T12:00:00Z")).toBeUndefined();
});
