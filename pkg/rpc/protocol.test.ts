import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { formatRange, negotiate, type ProtocolRange } from "./protocol.ts";

const range = fc
  .tuple(fc.integer({ min: 1, max: 999 }), fc.integer({ min: 0, max: 9 }))
  .map(([min, more]): ProtocolRange => ({ min, max: min + more }));

test("both sides come to the newest version that both speak, whoever calls, or to none", () => {
  fc.assert(
    fc.property(range, range, (a, b) => {
      const answer = negotiate(formatRange(a), b);
      const mirrored = negotiate(formatRange(b), a);
      expect(answer.ok).toBe(mirrored.ok);
      const common = Array.from({ length: 1100 }, (_, version) => version).filter((version) =>
        [a, b].every(({ min, max }) => min <= version && version <= max),
      );
      expect(answer.ok ? answer.version : undefined).toBe(common.at(-1));
    }),
  );
});

test("what is not spoken is told in plain words", () => {
  const reason = (header: string | null, own: ProtocolRange) => {
    const answer = negotiate(header, own);
    return answer.ok ? "agreed" : answer.reason;
  };
  expect(reason("1", { min: 2, max: 3 })).toBe(
    "the caller speaks protocol 1, this side speaks protocol 2-3: the caller is too old, upgrade the older of the two",
  );
  expect(reason("4-5", { min: 2, max: 3 })).toContain("the caller is too new");
  expect(reason(null, { min: 1, max: 1 })).toContain("no header valkey-protocol");
  for (const bad of ["", "0", "x", "1-", "-1", "3-2", "1.0", "1,2", "12345678"]) {
    expect(reason(bad, { min: 1, max: 1 })).toContain("names no version");
  }
});
