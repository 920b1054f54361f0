import { expect, test } from "bun:test";
import * as fc from "fast-check";
import * as v from "valibot";
import { milliseconds, shortTime, validity } from "./duration.ts";

const DAY = 86_400_000;

test("units mean what their letters say, and mo is not m", () => {
  expect(["5s", "1m", "1h", "90d", "1mo", "1y"].map(milliseconds)).toEqual([
    5000,
    60_000,
    3_600_000,
    90 * DAY,
    30 * DAY,
    365 * DAY,
  ]);
});

test("what the schema accepts has a length, and a certificate ends before the year 9999", () => {
  const unit = fc.constantFrom("s", "m", "h", "d", "mo", "y", "w", "");
  fc.assert(
    fc.property(fc.nat(9_999_999), unit, (amount, unit) => {
      const given = `${amount}${unit}`;
      if (!v.is(validity(""), given)) return;
      expect(milliseconds(given)).toBeGreaterThan(0);
      expect(milliseconds(given)).toBeLessThanOrEqual(99 * 365 * DAY);
    }),
  );
});

test("what is no duration is refused in words", () => {
  for (const given of ["", "5", "s", "5w", "-5s", "5.5s", "5s ", "__proto__"]) {
    expect(() => milliseconds(given)).toThrow("is no duration");
    expect(v.is(validity(""), given)).toBe(false);
    expect(v.is(shortTime(""), given)).toBe(false);
  }
});
