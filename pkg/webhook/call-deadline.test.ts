import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { callBudget, parseGoDuration } from "./call-deadline.ts";

test("Go's durations are read", () => {
  expect(parseGoDuration("10s")).toBe(10_000);
  expect(parseGoDuration("1m30s")).toBe(90_000);
  expect(parseGoDuration("1.5s")).toBe(1500);
  expect(parseGoDuration("250ms")).toBe(250);
  for (const bad of ["", "10", "s", "-1s", "1s ", "0s", "1x", "9".repeat(400)]) {
    expect(parseGoDuration(bad)).toBeUndefined();
  }
});

test("the budget is below the caller's patience and never above thirty seconds", () => {
  expect(callBudget("10s")).toBe(9000);
  expect(callBudget(null)).toBe(9000);
  expect(callBudget("nonsense")).toBe(9000);
  fc.assert(
    fc.property(fc.string(), (text) => {
      const budget = callBudget(text);
      expect(budget >= 1 && budget <= 27_000).toBe(true);
    }),
  );
});
