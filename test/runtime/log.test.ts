/** Logging in a compiled binary. */
import { expect, test } from "bun:test";
import { Program } from "../lib/program.ts";
import { compiledProbe } from "./compiled-probe.ts";

test("every line comes out, secrets do not, and an exit loses nothing", async () => {
  const { out, code } = await Program.run([await compiledProbe(), "log", "20000"]);
  const lines = out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(code).toBe(3);
  expect(lines).toHaveLength(20_002);
  expect(lines[19_999]).toMatchObject({ level: "info", program: "probe", line: 19_999, message: "counting" });
  expect(lines[20_000]).toMatchObject({
    level: "warn",
    user: { name: "app", password: "[redacted]" },
    token: "[redacted]",
  });
  expect(out).not.toContain("hunter2");
  expect(lines[20_001]).toMatchObject({ level: "error", err: { type: "TypeError", message: "broken" } });
}, 120_000);
