import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Program } from "../../../test/lib/program.ts";
import { until } from "../../../test/lib/until.ts";
import { findByArgument, identify, isAlive } from "./process.ts";

let proc: string;
beforeAll(async () => {
  proc = await mkdtemp(join(tmpdir(), "proc-"));
});
afterAll(() => rm(proc, { recursive: true, force: true }));

test("a process is found by the file that it was started with, and known to have ended", async () => {
  const conf = join(proc, `${crypto.randomUUID()}.conf`);
  await writeFile(conf, "");
  await using program = new Program(["tail", "-f", conf]);
  const found = await until("the process", () => findByArgument(conf));
  expect(found.pid).toBe(program.pid);
  expect(isAlive(found)).toBe(true);
  expect(findByArgument(`${conf}x`)).toBeUndefined();
  program.signal("SIGKILL");
  await program.ending();
  expect(isAlive(found)).toBe(false);
  expect(findByArgument(conf)).toBeUndefined();
});

async function pretend(pid: number, stat: { readonly state: string; readonly start: string }, args: readonly string[]) {
  await mkdir(join(proc, String(pid)));
  const fields = [stat.state, ...Array.from({ length: 18 }, () => "0"), stat.start, "0"];
  await writeFile(join(proc, String(pid), "stat"), `${pid} (val) key (x) ${fields.join(" ")}`);
  await writeFile(join(proc, String(pid), "cmdline"), `${args.join("\0")}\0`);
}

test("names with parentheses are read right, ended ones do not count, of several the oldest is the server", async () => {
  await pretend(7, { state: "S", start: "500" }, ["valkey-server", "/conf"]);
  await pretend(8, { state: "S", start: "90" }, ["valkey-server", "/conf"]);
  await pretend(9, { state: "Z", start: "10" }, ["valkey-server", "/conf"]);
  expect(identify(7, proc)).toEqual({ pid: 7, startedAt: "500" });
  expect(identify(9, proc)).toBeUndefined();
  expect(findByArgument("/conf", proc)).toEqual({ pid: 8, startedAt: "90" });
});

test("a number that was given to another process is not the old one", () => {
  expect(isAlive({ pid: 7, startedAt: "499" }, proc)).toBe(false);
});
