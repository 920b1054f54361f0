import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdir, mkdtemp, readdir, rm, utimes } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ensureFolder, withScratch } from "./scratch.ts";

let dir = "";
let place = "";
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "scratch-"));
  place = join(dir, "below", "place");
});
afterEach(() => rm(dir, { recursive: true, force: true }));

test("a folder that several make at once is one of theirs, whole, and nothing else is left", async () => {
  let waiting = 3;
  const together = Promise.withResolvers<void>();
  const fill = async (folder: string) => {
    await Bun.write(join(folder, "first"), "1");
    if (--waiting === 0) together.resolve();
    await together.promise;
    await Bun.write(join(folder, "second"), "2");
  };
  await Promise.all([ensureFolder(place, fill), ensureFolder(place, fill), ensureFolder(place, fill)]);
  expect(await readdir(join(dir, "below"))).toEqual(["place"]);
  expect((await readdir(place)).toSorted()).toEqual(["first", "second"]);
});

test("a folder that is there is not made again", async () => {
  await mkdir(place, { recursive: true });
  await ensureFolder(place, () => Promise.reject(new Error("made again")));
  expect(await readdir(place)).toEqual([]);
});

test("work that fails leaves neither the place nor a scratch folder", async () => {
  const failing = ensureFolder(place, () => Promise.reject(new Error("no space")));
  expect(await failing.catch(String)).toContain("no space");
  expect(await readdir(join(dir, "below"))).toEqual([]);
});

test("scratch folders of killed processes go, those of others at work stay", async () => {
  const old = `${place}.making-old`;
  const young = `${place}.making-young`;
  const foreign = join(dir, "below", "other.making-old");
  for (const path of [old, young, foreign]) await mkdir(path, { recursive: true });
  const yesterday = new Date(Date.now() - 86_400_000);
  await utimes(old, yesterday, yesterday);
  await utimes(foreign, yesterday, yesterday);
  await withScratch(place, async () => {});
  expect((await readdir(join(dir, "below"))).toSorted()).toEqual(["other.making-old", "place.making-young"]);
});
