import { expect, test } from "bun:test";
import { errorFields, prettyLine } from "./log.ts";

test("an error is written with its words and without what it carries", () => {
  const carried: Record<string, unknown> = {};
  carried["self"] = carried;
  const error = Object.assign(new TypeError("no", { cause: new Error("because") }), { code: "E1", socket: carried });
  const written = JSON.stringify(errorFields(error));
  expect(JSON.parse(written)).toMatchObject({ type: "TypeError", message: "no", code: "E1", cause: "because" });
  expect(written).not.toContain("socket");
});

test("a readable line keeps time, level, message and fields", () => {
  const line = JSON.stringify({
    level: "warn",
    time: "2026-01-02T03:04:05.678Z",
    program: "x",
    pod: "a-0",
    n: 3,
    message: "slow",
  });
  expect(prettyLine(line)).toBe("03:04:05.678 warn  slow pod=a-0 n=3\n");
});
