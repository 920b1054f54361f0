import { expect, test } from "bun:test";
import { versionLine } from "./version.ts";

test("one line names release, commit, Bun and protocol", () => {
  const info = { version: "1.2.3", commit: "abcdef0", bun: "1.4.4", protocol: { min: 1, max: 1 } };
  expect(versionLine("kubectl-valkey", info)).toBe("kubectl-valkey 1.2.3 (commit abcdef0, bun 1.4.4, protocol v1)");
});

test("a range of protocols is shown as a range", () => {
  const info = { version: "1.2.3", commit: "abcdef0", bun: "1.4.4", protocol: { min: 1, max: 2 } };
  expect(versionLine("valkey-operator", info)).toEndWith("protocol v1-v2)");
});
