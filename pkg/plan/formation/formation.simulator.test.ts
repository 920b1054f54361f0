import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { Story } from "./test-story.ts";

const shapes = fc.record({
  shards: fc.integer({ min: 1, max: 4 }),
  members: fc.integer({ min: 1, max: 3 }),
  volumes: fc.boolean(),
});
const seeds = fc.integer({ min: 0, max: 2 ** 31 - 1 });
const RUNS = Number(process.env["FORMATION_RUNS"] ?? 600);

test("a new cluster forms without any fault", () => {
  fc.assert(
    fc.property(shapes, seeds, (shape, seed) => {
      expect(new Story(shape, seed).settle()).toEqual([]);
    }),
    { numRuns: 50 },
  );
});

test("whatever happens and wherever the operator dies, the cluster becomes whole and no copied write is lost", () => {
  fc.assert(
    fc.property(shapes, seeds, fc.integer({ min: 6, max: 60 }), (shape, seed, faultOf) => {
      const story = new Story(shape, seed);
      for (let event = 0; event < 300; event += 1) expect(story.happen(faultOf)).toBeUndefined();
      expect(story.settle()).toEqual([]);
    }),
    { numRuns: RUNS, endOnFailure: true },
  );
}, 60_000);
