import { expect, test } from "bun:test";
import { slotOf } from "./slots.ts";

test("slots are those that Valkey computes", () => {
  expect(slotOf("123456789")).toBe(0x31c3);
  expect(slotOf("foo")).toBe(12_182);
  expect(slotOf("{user1000}.following")).toBe(slotOf("{user1000}.followers"));
  expect(slotOf("foo{}{bar}")).toBe(8363);
});
