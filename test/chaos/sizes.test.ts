import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { anotherSize } from "./sizes.ts";

test("a rolling change always has another size to go to, within what a machine has room for", () => {
  fc.assert(
    fc.property(fc.integer({ min: 128, max: 159 }), fc.nat(), (now, choice) => {
      const next = anotherSize(now, choice);
      expect(next).not.toBe(now);
      expect(next).toBeWithin(128, 160);
    }),
  );
});
