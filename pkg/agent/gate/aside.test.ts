import { afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Aside } from "./aside.ts";

const FILES = { dbfilename: "dump.rdb", appenddirname: "appendonlydir" };
const BASE = "appendonly.aof.1.base.rdb";

let data: string;
let told: string[];
let emptied: number;
beforeEach(async () => {
  data = await mkdtemp(join(tmpdir(), "aside-"));
  told = [];
  emptied = 0;
});
afterEach(() => rm(data, { recursive: true, force: true }));

function asideOf(version: string | undefined): Aside {
  return new Aside({ data, version, emptied: () => (emptied += 1), tell: (message) => told.push(message) });
}

const has = (...path: string[]) => existsSync(join(data, ...path));

function snapshot(writer: string): Buffer {
  const text = (value: string) => Buffer.concat([Buffer.from([value.length]), Buffer.from(value)]);
  return Buffer.concat([
    Buffer.from("VALKEY080\u00fa", "latin1"),
    text("valkey-ver"),
    text(writer),
    Buffer.from([0xfe]),
  ]);
}

test("what a newer release wrote is set aside, kept until the primary's data is there, and told", async () => {
  await writeFile(join(data, "dump.rdb"), snapshot("9.1.0"));
  await writeFile(join(data, "nodes.conf"), "its place in the cluster");
  await asideOf("8.1").makeLoadable(FILES);
  expect(has("dump.rdb")).toBe(false);
  expect(has("set-aside", "dump.rdb")).toBe(true);
  expect(has("nodes.conf")).toBe(true);
  expect(told).toEqual([
    "Valkey 8.1 cannot read what 9.1.0 wrote: dump.rdb went into set-aside beside the data, and everything comes from the primary",
  ]);
  expect(emptied).toBe(1);
  // Another agent, after the death of the first.
  asideOf("8.1").replaced();
  expect(has("set-aside")).toBe(false);
});

test("the base of an append-only file counts as well, and goes with all that belongs to it", async () => {
  const dir = join(data, "appendonlydir");
  await mkdir(dir);
  await writeFile(join(dir, BASE), snapshot("9.1.0"));
  await writeFile(join(dir, "appendonly.aof.manifest"), `file ${BASE} seq 1 type b\n`);
  await asideOf("8.1").makeLoadable(FILES);
  expect(has("appendonlydir")).toBe(false);
  expect(has("set-aside", "appendonlydir", BASE)).toBe(true);
});

test("what the server can read stays, and so does what tells nothing", async () => {
  await writeFile(join(data, "dump.rdb"), snapshot("8.1.4"));
  await asideOf("8.1").makeLoadable(FILES);
  await asideOf("9.1").makeLoadable(FILES);
  await asideOf(undefined).makeLoadable(FILES);
  await writeFile(join(data, "dump.rdb"), "no snapshot");
  await asideOf("8.1").makeLoadable(FILES);
  expect(has("dump.rdb")).toBe(true);
  expect({ told, emptied }).toEqual({ told: [], emptied: 0 });
});

test("what was set aside before makes room", async () => {
  await mkdir(join(data, "set-aside"));
  await writeFile(join(data, "set-aside", "dump.rdb"), "older");
  await writeFile(join(data, "dump.rdb"), snapshot("9.1.0"));
  await asideOf("8.1").makeLoadable(FILES);
  expect((await Bun.file(join(data, "set-aside", "dump.rdb")).bytes()).length).toBe(snapshot("9.1.0").length);
});

test("nothing is done where there is nothing", async () => {
  await asideOf("8.1").makeLoadable(FILES);
  asideOf("8.1").replaced();
  expect({ told, emptied, made: has("set-aside") }).toEqual({ told: [], emptied: 0, made: false });
});
