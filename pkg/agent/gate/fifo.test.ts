import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Program } from "../../../test/lib/program.ts";
import { until } from "../../../test/lib/until.ts";
import { makeFifo, passGate } from "./fifo.ts";

let folder: string;
let gate: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "fifo-"));
  gate = join(folder, "gate");
  makeFifo(gate);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const nothing = () => {};

test("it is for its owner alone, and made once", async () => {
  const { ino, mode } = await stat(gate);
  expect(mode & 0o777).toBe(0o600);
  makeFifo(gate);
  expect((await stat(gate)).ino).toBe(ino);
});

test("what stands in its place is replaced", async () => {
  const path = join(folder, "other");
  await writeFile(path, "a file that a server would read at once");
  makeFifo(path);
  expect((await stat(path)).isFIFO()).toBe(true);
});

test("a folder that is not there is told", () => {
  expect(() => makeFifo(join(folder, "none", "gate"))).toThrow("cannot make the gate");
});

test("nobody passes when nobody waits, and nothing is left for who comes later", async () => {
  let noted = 0;
  expect(passGate(gate, "first", () => (noted += 1))).toBe(false);
  expect(noted).toBe(0);
  await using reader = new Program(["cat", gate]);
  await until("the reader", () => passGate(gate, "second", nothing));
  expect((await reader.ending()).out).toBe("second");
});

test("each reader gets a text of its own, also one that comes right after another that died", async () => {
  await using killed = new Program(["cat", gate]);
  await Bun.sleep(0);
  killed.signal("SIGKILL");
  await killed.ending();
  await using next = new Program(["cat", gate]);
  let noted = 0;
  await until("the next reader", () => passGate(gate, "mine", () => (noted += 1)));
  expect((await next.ending()).out).toBe("mine");
  expect(noted).toBe(1);
});

test("a note that cannot be made keeps the gate shut for good: the reader gets nothing", async () => {
  await using reader = new Program(["cat", gate]);
  const failing = () => {
    throw new Error("the disk is full");
  };
  const error = await until("the reader", () => {
    try {
      return passGate(gate, "text", failing) ? undefined : false;
    } catch (thrown) {
      return String(thrown);
    }
  });
  expect(error).toContain("the disk is full");
  expect((await reader.ending()).out).toBe("");
});

test("a text that might arrive in pieces is refused", () => {
  expect(() => passGate(gate, "x".repeat(5000), nothing)).toThrow("in one piece");
});
