import { expect, test } from "bun:test";
import { countJunit, failuresOf } from "./test-report.ts";

const REPORT =
  '<?xml version="1.0"?>\n<testsuites name="bun test" tests="5" assertions="9" failures="1" skipped="1" time="0.1">';

test("passed is what neither failed nor was skipped", () => {
  expect(countJunit(REPORT, 1)).toEqual({ passed: 3, failed: 1, skipped: 1 });
});

test("a runner that died without a report is a failure", () => {
  expect(countJunit("", 137)).toEqual({ passed: 0, failed: 1, skipped: 0 });
  expect(countJunit("", 0)).toEqual({ passed: 0, failed: 1, skipped: 0 });
});

test("what failed is said again with its reason, once, and nothing of what passed", () => {
  const output = `a.test.ts:
noise of the first
(pass) the first [1.00ms]
Error: not so
      at somewhere
(fail) the second [2.00ms]

1 test failed:
(fail) the second [2.00ms]
`;
  expect(failuresOf(output)).toBe("Error: not so\n      at somewhere\n(fail) the second [2.00ms]");
});

test("a flood of failures is cut at its end, not at its beginning", () => {
  const output = [...Array(1000).keys()].map((n) => `reason ${n}\n(fail) test ${n}`).join("\n");
  const told = failuresOf(output);
  expect(told).toStartWith("reason 0\n(fail) test 0");
  expect(told.length).toBeLessThan(10_000);
});
