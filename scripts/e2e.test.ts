import { expect, test } from "bun:test";
import { deservesAnother, inOrder } from "./e2e.ts";

test("chaos comes last, the others keep their order", () => {
  const files = ["./test/e2e/apply.test.ts", "./test/e2e/chaos.test.ts", "./test/e2e/lab.test.ts"];
  expect(inOrder(files)).toEqual(["./test/e2e/apply.test.ts", "./test/e2e/lab.test.ts", "./test/e2e/chaos.test.ts"]);
});

test("a file that failed is tried once more, unless it did harm or too many did", () => {
  const counts = { passed: 3, failed: 1, skipped: 0 };
  expect(deservesAnother({ counts, output: "too slow" }, 0)).toBe(true);
  expect(deservesAnother({ counts: { ...counts, failed: 0 }, output: "" }, 0)).toBe(false);
  expect(deservesAnother({ counts, output: "too slow" }, 3)).toBe(false);
  expect(deservesAnother({ counts, output: "…\n### harm: 2 acknowledged writes lost\n" }, 0)).toBe(false);
});
