import { expect, test } from "bun:test";
import { retryDue } from "./retry.ts";
import { FAILED_CREATE, NOW } from "./test-facts.ts";

const refused = { wanted: true, hasPod: false, failedCreate: FAILED_CREATE.quota, retriedAt: undefined };
const ago = (seconds: number) => new Date(NOW.getTime() - seconds * 1000).toISOString();

test("a refused workload is made to try again every 15 s", () => {
  expect(retryDue(refused, NOW)).toBe("now");
  expect(retryDue({ ...refused, retriedAt: ago(14) }, NOW)).toBe("later");
  expect(retryDue({ ...refused, retriedAt: ago(15) }, NOW)).toBe("now");
  expect(retryDue({ ...refused, retriedAt: "damaged" }, NOW)).toBe("now");
});

test("one that has its pod, wants none or was never refused is left alone", () => {
  expect(retryDue({ ...refused, hasPod: true }, NOW)).toBe("never");
  expect(retryDue({ ...refused, wanted: false }, NOW)).toBe("never");
  expect(retryDue({ ...refused, failedCreate: undefined }, NOW)).toBe("never");
});
