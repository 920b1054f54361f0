import { expect, test } from "bun:test";
import { bytesOf } from "./bytes.ts";

test.each([
  ["1Gi", 1_073_741_824],
  ["512Mi", 536_870_912],
  ["1.5Gi", 1_610_612_736],
  ["128974848", 128_974_848],
  ["129M", 129_000_000],
  ["129e6", 129_000_000],
  ["1E", 1e18],
  ["500m", 1],
  [64, 64],
  [undefined, 0],
])("%p is %p bytes", (quantity, bytes) => {
  expect(bytesOf(quantity)).toBe(bytes);
});
