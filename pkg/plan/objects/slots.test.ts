import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { MAX_MASTERS, MIN_MASTERS } from "../../api/cluster-spec.ts";
import { SLOTS, slotsOfShard } from "./slots.ts";

test("every slot has exactly one shard, and no shard has two more than another", () => {
  fc.assert(
    fc.property(fc.integer({ min: MIN_MASTERS, max: MAX_MASTERS }), (shards) => {
      const runs = Array.from({ length: shards }, (_, shard) => slotsOfShard(shard, shards));
      const sizes = runs.map(({ first, last }) => last - first + 1);
      expect(runs[0]?.first).toBe(0);
      expect(runs.at(-1)?.last).toBe(SLOTS - 1);
      for (const [shard, { last }] of runs.slice(0, -1).entries()) expect(runs[shard + 1]?.first).toBe(last + 1);
      expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
      expect(sizes).toEqual(sizes.toSorted((a, b) => b - a));
    }),
  );
});
