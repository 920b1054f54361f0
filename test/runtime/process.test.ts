/** A compiled binary as a process: what it reads, where it can run, how its errors read, how it ends. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Program } from "../lib/program.ts";
import { compiledProbe } from "./compiled-probe.ts";

const UID = 65_532;
const asRoot = process.getuid?.() === 0;
let folder: string;
let probe: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "process-"));
  await chmod(folder, 0o755);
  probe = await compiledProbe();
}, 120_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

test(".env and bunfig.toml in the working directory change nothing", async () => {
  await writeFile(join(folder, ".env"), "FROM_DOTENV=yes\nNODE_ENV=test\n");
  await writeFile(join(folder, "preload.ts"), "console.log('preloaded'); process.exit(9);\n");
  await writeFile(join(folder, "bunfig.toml"), 'preload = ["./preload.ts"]\n');
  const { code, out } = await Program.run([probe, "environment"], { cwd: folder, env: {} });
  expect({ code, ...(JSON.parse(out) as object) }).toMatchObject({ code: 0, env: {}, nodeEnv: "production" });
  expect(out).not.toContain("FROM_DOTENV");
});

test("runs with an empty environment, without a home, in a read-only directory, as an unprivileged user", async () => {
  const readOnly = join(folder, "read-only");
  await mkdir(readOnly, { mode: 0o555 });
  // The checkout may be out of reach for the other user, the binary must not be.
  const binary = join(folder, "probe");
  await Bun.write(binary, Bun.file(probe));
  await chmod(binary, 0o755);
  const user = asRoot ? { uid: UID } : {};
  const { code, out } = await Program.run([binary, "environment"], { cwd: readOnly, env: {}, ...user });
  expect(code).toBe(0);
  expect(JSON.parse(out)).toMatchObject({ env: {}, uid: asRoot ? UID : process.getuid?.(), cwd: readOnly });
  const { out: log } = await Program.run([binary, "log", "1"], { cwd: readOnly, env: {}, ...user });
  expect(log).toContain("counting");
});

test("classes keep their names and stack traces name the source file and line", async () => {
  const { out } = await Program.run([probe, "names"], { cwd: folder, env: {} });
  const { class: name, stack } = JSON.parse(out) as { class: string; stack: string };
  expect(name).toBe("ReplicaOutOfReach");
  const source = await Bun.file(join(import.meta.dir, "probe/process.ts")).text();
  const line = source.split("\n").findIndex((text) => text.includes("throw new ReplicaOutOfReach")) + 1;
  expect(stack).toContain("lookForReplica");
  expect(stack).toContain(`process.ts:${line}:`);
});

describe("its end is told by its exit code", () => {
  test.each([
    ["code", 5, ""],
    ["throw", 1, "thrown"],
    ["reject", 1, "rejected"],
  ])("%s gives %d", async (how, code, message) => {
    const ending = await Program.run([probe, "end", how]);
    expect(ending.code).toBe(code);
    expect(ending.err).toContain(message);
  });

  test("a SIGTERM handler runs and decides the code", async () => {
    await using program = new Program([probe, "end", "signal"]);
    await program.message("waiting");
    program.signal("SIGTERM");
    expect(await program.ending()).toMatchObject({ code: 42, signal: null });
    expect(await program.message("ending")).toBe(true);
  });

  test("SIGKILL is seen as such", async () => {
    await using program = new Program([probe, "end", "signal"]);
    await program.message("waiting");
    program.signal("SIGKILL");
    expect(await program.ending()).toMatchObject({ code: null, signal: "SIGKILL" });
  });
});
