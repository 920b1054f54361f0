import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inputsHash, isFresh, stamp } from "./stamp.ts";

let dir = "";
let result = "";
let mark = "";
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "stamp-"));
  result = join(dir, "result");
  mark = join(dir, "mark");
  await Bun.write(result, "made");
  await stamp(mark, "inputs", [result]);
});
afterEach(() => rm(dir, { recursive: true, force: true }));

test("a result of the same inputs is fresh", async () => {
  expect(await isFresh(mark, "inputs")).toBe(true);
});

test("other inputs, another result, no result, no stamp or a broken one are not", async () => {
  expect(await isFresh(mark, "other")).toBe(false);
  expect(await isFresh(join(dir, "none"), "inputs")).toBe(false);
  await Bun.write(result, "half");
  expect(await isFresh(mark, "inputs")).toBe(false);
  await rm(result);
  expect(await isFresh(mark, "inputs")).toBe(false);
  await Bun.write(mark, '{"inputs":');
  expect(await isFresh(mark, "inputs")).toBe(false);
});

test("the hash follows the files and what was told, not the order of the files", async () => {
  const hash = await inputsHash(["LICENSE", "package.json"], { a: 1 });
  expect(await inputsHash(["package.json", "LICENSE"], { a: 1 })).toBe(hash);
  expect(await inputsHash(["LICENSE"], { a: 1 })).not.toBe(hash);
  expect(await inputsHash(["LICENSE", "package.json"], { a: 2 })).not.toBe(hash);
});
