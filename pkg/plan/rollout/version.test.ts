import { expect, test } from "bun:test";
import { isOlderMajor, versionOfTag } from "./version.ts";

test("a tag tells its version, or nothing", () => {
  expect(["9.1", "9.1.2-alpine", "v8.1", "latest", "9", "bookworm-9.1"].map(versionOfTag)).toEqual([
    "9.1",
    "9.1",
    "8.1",
    undefined,
    undefined,
    undefined,
  ]);
});

test("only an older major is a downgrade", () => {
  expect(isOlderMajor("8.1", "9.0.1")).toBe(true);
  expect(isOlderMajor("9.0", "9.1.2")).toBe(false);
  expect(isOlderMajor("9.1", "8.1.4")).toBe(false);
  expect(isOlderMajor("8.1", "")).toBe(false);
});
