import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { awaitStart } from "./await-start.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "start-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const never = new AbortController().signal;
const paths = () => ({ gate: join(folder, "gate"), agentSocket: join(folder, "agent.sock") });

test("waits until the agent has made the gate and listens to the server's container", async () => {
  await writeFile(paths().gate, "");
  let over = false;
  const waiting = awaitStart({ paths: paths() }, never).finally(() => {
    over = true;
  });
  await awaitStart({ paths: paths(), patienceMs: 30 }, never);
  expect(over).toBe(false);
  await writeFile(paths().agentSocket, "");
  expect(await waiting).toBeUndefined();
});

test("says what is missing when the agent does not start", async () => {
  expect(await awaitStart({ paths: paths(), patienceMs: 0 }, never)).toBe(
    `the agent has not made ${paths().gate} within 0 s: its log says why`,
  );
});
