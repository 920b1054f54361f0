import { expect, test } from "bun:test";
import { departure } from "./handover-response.ts";

test("a pod that goes says who leads now and what it cost, or that nobody does", () => {
  expect(departure({ result: "handed-over", writesWaitedMs: 34 }, "shop-0-1")).toEqual({
    reason: "HandedOver",
    message: "handed over to shop-0-1 before its pod goes, writes waited 34 ms",
  });
  for (const result of ["no-replica-in-sync", "gave-up"] as const) {
    const { reason, message } = departure({ result, writesWaitedMs: 0 }, "");
    expect(reason).toBe("NotHandedOver");
    expect(message).toContain("without a successor");
  }
});

test("a replica that goes is no news", () => {
  expect(departure({ result: "not-primary", writesWaitedMs: 0 }, "").reason).toBeUndefined();
});
