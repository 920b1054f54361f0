import { expect, test } from "bun:test";
import { shown } from "./test-run.ts";

test("a run that hangs is killed when its time is up, and says so", async () => {
  const ended = await shown(["sh", "-c", "echo begun; exec sleep 600"], {
    print: "at the end",
    limitMs: 300,
  });
  expect(ended).toMatchObject({ output: "begun\n", killed: true });
  expect(ended.code).not.toBe(0);
});

test("what was started in the background does not hold up the end", async () => {
  const ended = await shown(["sh", "-c", "sleep 5 & echo done"], { print: "at the end" });
  expect(ended).toEqual({ code: 0, output: "done\n", killed: false });
}, 4000);
