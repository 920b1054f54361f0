/** The same sources give the same bytes, wherever they lie, and a binary says what it is. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { cp, mkdir, mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { BINARIES } from "../../scripts/build.ts";
import { ROOT, run } from "../../scripts/lib.ts";
import { Program } from "../lib/program.ts";

const NAMES = Object.keys(BINARIES);
const COMMIT = "0123456789ab";
let folder: string;
let here: string;
let elsewhere: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "build-"));
  here = await builtIn(join(folder, "here"));
  elsewhere = await builtIn(join(folder, "some/where/else"));
}, 180_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

/** A copy of the working tree, dependencies included, with its binaries built. */
async function builtIn(copy: string): Promise<string> {
  const files = (await run(["git", "ls-files", "-co", "--exclude-standard"])).split("\n").filter(Boolean);
  for (const file of files) {
    await mkdir(dirname(join(copy, file)), { recursive: true });
    if (await Bun.file(join(ROOT, file)).exists()) await cp(join(ROOT, file), join(copy, file));
  }
  await copyFolder(await realpath(join(ROOT, "node_modules")), join(copy, "node_modules"));
  await build(copy);
  return copy;
}

/** By links to the same files where that is allowed: a true copy takes longer than everything else here together. */
async function copyFolder(from: string, to: string): Promise<void> {
  const linked = await Program.run(["cp", "-rl", from, to], { timeoutMs: 60_000 });
  if (linked.code === 0) return;
  await rm(to, { recursive: true, force: true });
  await run(["cp", "-r", from, to]);
}

async function build(copy: string): Promise<void> {
  await run([process.execPath, "scripts/build.ts"], { cwd: copy, env: { BUILD_COMMIT: COMMIT } });
}

async function sums(copy: string): Promise<string[]> {
  return Promise.all(
    NAMES.map(async (name) => {
      const bytes = await Bun.file(join(copy, "dist", name)).arrayBuffer();
      return `${name} ${new Bun.CryptoHasher("sha256").update(bytes).digest("hex")}`;
    }),
  );
}

test("built twice, every binary is the same", async () => {
  const first = await sums(here);
  await build(here);
  expect(await sums(here)).toEqual(first);
}, 60_000);

test("built from another directory, every binary is the same", async () => {
  expect(await sums(elsewhere)).toEqual(await sums(here));
});

test.each(NAMES)("%s says program, version, commit, Bun and protocol", async (name) => {
  const { version } = (await Bun.file(join(ROOT, "package.json")).json()) as { version: string };
  const { out, code } = await Program.run([join(here, "dist", name), "--version"], { env: {} });
  expect(code).toBe(0);
  expect(out).toBe(`${name} ${version} (commit ${COMMIT}, bun ${Bun.version}, protocol v1)\n`);
});
