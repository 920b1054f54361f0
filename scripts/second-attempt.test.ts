import { expect, test } from "bun:test";
import { afterSecond, failedFiles, mayRunAgain } from "./second-attempt.ts";

const counts = { passed: 3, failed: 1, skipped: 0 };

test("a file that failed is tried once more, unless it did harm", () => {
  expect(mayRunAgain({ counts, output: "too slow" })).toBe(true);
  expect(mayRunAgain({ counts: { ...counts, failed: 0 }, output: "" })).toBe(false);
  expect(mayRunAgain({ counts, output: "…\n### harm: 2 acknowledged writes lost\n" })).toBe(false);
});

test("of many files those in which something failed, with how much, each failure once", () => {
  const output = `pkg/a.test.ts:
(pass) one [1.00ms]

pkg/b.test.ts:
error: not so
(fail) two [1.00ms]
(fail) three [1.00ms]

pkg/c.test.ts:
(fail) four [1.00ms]

3 tests failed:
(fail) two [1.00ms]
(fail) three [1.00ms]
(fail) four [1.00ms]
`;
  expect([...failedFiles(output)]).toEqual([
    ["pkg/b.test.ts", 2],
    ["pkg/c.test.ts", 1],
  ]);
});

test("the second result counts in the place of the first", () => {
  const first = { counts: { passed: 10, failed: 3, skipped: 1 }, output: "a", failures: "three" };
  const second = { counts: { passed: 4, failed: 1, skipped: 0 }, output: "b", failures: "one" };
  expect(afterSecond(first, 3, second)).toMatchObject({
    counts: { passed: 12, failed: 1, skipped: 1 },
    failures: "one",
  });
});
