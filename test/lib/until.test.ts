import { expect, test } from "bun:test";
import { until } from "./until.ts";

test("what is seen at last is the result", async () => {
  let looks = 0;
  expect(await until("three looks", () => (++looks === 3 ? looks : undefined), { everyMs: 1 })).toBe(3);
});

test("patience ends with what was seen last as the cause", async () => {
  const fails = () => Promise.reject(new Error("still down"));
  const error = await until("a server", fails, { timeoutMs: 5, everyMs: 1 }).catch((e: unknown) => e);
  expect(error).toMatchObject({ message: "waited 5 ms in vain: a server", cause: new Error("still down") });
});

test("costly looks leave time for what they look at", async () => {
  let looking = 0;
  const began = performance.now();
  await until("five looks", async () => {
    const start = performance.now();
    await Bun.sleep(10);
    looking += performance.now() - start;
    return looking >= 50;
  });
  expect(looking).toBeLessThan((performance.now() - began) / 2);
});
