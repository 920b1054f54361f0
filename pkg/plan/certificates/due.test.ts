import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { whenToRotate } from "./due.ts";

const at = (ms: number) => new Date(Date.UTC(2026, 0, 1) + ms);

test("a certificate of a hundred days is rotated after seventy-five at 75 percent", () => {
  const day = 86_400_000;
  expect(whenToRotate(at(0), at(100 * day), 75)).toEqual(at(75 * day));
});

test("the time to rotate lies in the life, grows with the percent and leaves a fifth of the life to repair", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 4e12 }), fc.double(), fc.double(), (life, one, other) => {
      const [low, high] = [Math.min(one, other), Math.max(one, other)];
      const first = whenToRotate(at(0), at(life), low).getTime() - at(0).getTime();
      const second = whenToRotate(at(0), at(life), high).getTime() - at(0).getTime();
      if (!Number.isNaN(low) && Number.isFinite(low) && Number.isFinite(high))
        expect(first).toBeLessThanOrEqual(second);
      expect(second).toBeLessThanOrEqual(life * 0.8);
      expect(first).toBeGreaterThanOrEqual(Math.floor(life * 0.66));
    }),
  );
});

test("an upside-down validity is due at once", () => {
  expect(whenToRotate(at(10), at(0), 75)).toEqual(at(10));
});
