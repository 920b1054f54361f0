import { afterAll, describe, expect, test } from "bun:test";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeposed } from "./client-errors.ts";
import { FileFencing, MemoryFencing, parseToken } from "./fencing.ts";
import { failure, NODE, OPERATOR, startAgent, startClients, TestAuthority } from "./test-peers.ts";

const folder = await mkdtemp(join(tmpdir(), "fencing-"));
afterAll(() => rm(folder, { recursive: true, force: true }));
let files = 0;
const path = () => join(folder, String((files += 1)));

test("a token is a positive whole number, without ornament", () => {
  expect(["1", "91000000", "999999999999999"].map(parseToken)).toEqual([1, 91_000_000, 999_999_999_999_999]);
  const bad = ["", "0", "01", "-1", "+1", "1.5", "1e3", " 1", "1 ", "0x1", "1234567890123456", "x"];
  expect(bad.map(parseToken)).toEqual(bad.map(() => undefined));
});

describe.each([
  ["memory", async () => new MemoryFencing()],
  ["a file", async () => FileFencing.open(path())],
])("in %s", (_, make) => {
  test("the highest stays, whatever comes after it", async () => {
    const store = await make();
    expect(store.highest()).toBe(0);
    for (const token of [5, 3, 9, 9, 4]) await store.raise(token);
    expect(store.highest()).toBe(9);
  });
});

test("a token holds from the call on, before it is written", async () => {
  const store = await FileFencing.open(path());
  const writing = store.raise(4);
  expect(store.highest()).toBe(4);
  await writing;
});

test("many at once end with the highest in the file, whole, and nothing beside it", async () => {
  const file = path();
  const store = await FileFencing.open(file);
  await Promise.all([3, 8, 1, 12, 5].map((token) => store.raise(token)));
  expect(await readFile(file, "utf8")).toBe("12\n");
  expect((await readdir(folder)).filter((name) => name.endsWith(".new"))).toEqual([]);
});

test("a write that fails fails the command; the token holds, and the next one writes it", async () => {
  const late = join(folder, "late");
  const file = join(late, "fencing");
  const store = await FileFencing.open(file);
  expect(String(await store.raise(3).catch((error: unknown) => error))).toContain("ENOENT");
  expect(store.highest()).toBe(3);
  await Bun.write(join(late, "made"), "");
  await store.raise(3);
  expect(await readFile(file, "utf8")).toBe("3\n");
});

test("a file that somebody else wrote is told, not guessed at", async () => {
  const file = path();
  await writeFile(file, "garbage");
  const error: unknown = await FileFencing.open(file).catch((reason: unknown) => reason);
  expect(String(error)).toContain("should hold the highest fencing token");
});

test("an agent that restarts still refuses the leader it had refused before", async () => {
  const authority = await TestAuthority.make();
  const file = path();
  const identity = await authority.identity(NODE);
  using leader = startClients(await authority.identity(OPERATOR), { fencingToken: () => 20 });
  using deposed = startClients(await authority.identity(OPERATOR), { fencingToken: () => 19 });
  {
    await using agent = await startAgent(identity, { fencing: await FileFencing.open(file) });
    await leader.agent(agent.target, NODE).configure({});
  }
  await using again = await startAgent(identity, { fencing: await FileFencing.open(file) });
  expect(isDeposed(await failure(deposed.agent(again.target, NODE).configure({})))).toBe(true);
  await leader.agent(again.target, NODE).configure({});
});
