import { expect, test } from "bun:test";
import { inOrder, mayRunAgain } from "./e2e.ts";

const file = (name: string) => `./test/e2e/${name}.test.ts`;

test("long files at one end, those without an operator at the other; those that measure by themselves, chaos last", () => {
  const files = ["apply-events", "chaos", "heal-crash", "heal-disk", "lab", "rolling-surge"].map(file);
  expect(inOrder(files)).toEqual({
    beside: ["heal-disk", "lab", "apply-events"].map(file),
    alone: ["rolling-surge", "heal-crash", "chaos"].map(file),
  });
});

test("a file that failed is tried once more, unless it did harm", () => {
  const counts = { passed: 3, failed: 1, skipped: 0 };
  expect(mayRunAgain({ counts, output: "too slow" })).toBe(true);
  expect(mayRunAgain({ counts: { ...counts, failed: 0 }, output: "" })).toBe(false);
  expect(mayRunAgain({ counts, output: "…\n### harm: 2 acknowledged writes lost\n" })).toBe(false);
});
