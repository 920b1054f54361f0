import { afterEach, expect, test } from "bun:test";
import { createLogger } from "../log/log.ts";
import { type HealthOptions, HealthServer, isLoopback } from "./health-server.ts";
import { levelControl, toggleOnSignal } from "./log-level.ts";

const log = createLogger({ program: "test", level: "fatal" });
const running: HealthServer[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((server) => server.close()));
});

function start(options: Partial<HealthOptions> = {}): HealthServer {
  const server = new HealthServer({ log, checkDeadlineMs: 50, ...options });
  running.push(server);
  return server;
}

async function get(server: HealthServer, path: string, init: RequestInit = {}): Promise<[number, string]> {
  const response = await fetch(`http://127.0.0.1:${server.port}${path}`, init);
  return [response.status, await response.text()];
}

test("all is well in one word, or check by check if asked", async () => {
  const server = start();
  server.addLiveness("loop", () => undefined);
  expect(await get(server, "/livez")).toEqual([200, "ok\n"]);
  expect(await get(server, "/livez?verbose")).toEqual([200, "[+]loop ok\nlivez check passed\n"]);
});

test("readiness names each check that fails, also one that throws or hangs", async () => {
  const server = start();
  server.addReadiness("caches", () => "pods: not synced yet");
  server.addReadiness("broken", () => {
    throw new Error("boom");
  });
  server.addReadiness("stuck", async () => new Promise<undefined>(() => {}));
  expect(await get(server, "/readyz")).toEqual([
    503,
    [
      "[+]shutdown ok",
      "[-]caches failed: pods: not synced yet",
      "[-]broken failed: the check failed: boom",
      "[-]stuck failed: no answer within 50 ms",
      "readyz check failed\n",
    ].join("\n"),
  ]);
  expect((await get(server, "/livez"))[0]).toBe(200);
});

test("a shutdown makes it not ready, and still alive", async () => {
  const server = start();
  expect(await get(server, "/readyz")).toEqual([200, "ok\n"]);
  server.notReady("SIGTERM");
  expect(await get(server, "/readyz")).toEqual([503, "[-]shutdown failed: SIGTERM\nreadyz check failed\n"]);
  expect((await get(server, "/livez"))[0]).toBe(200);
});

test("metrics are served as they are, and a failure is told", async () => {
  const response = await fetch(`http://127.0.0.1:${start({ metrics: () => "a 1\n" }).port}/metrics`);
  expect(response.headers.get("content-type")).toContain("version=0.0.4");
  expect(await response.text()).toBe("a 1\n");
  const broken = start({
    metrics: () => {
      throw new Error("boom");
    },
  });
  expect(await get(broken, "/metrics")).toEqual([500, "failed: boom\n"]);
});

test("the log level changes at run time, for children too", async () => {
  const logger = createLogger({ program: "test", level: "error" });
  const server = start({ level: levelControl(logger) });
  const grandchild = logger.child({ part: "a" }).child({ part: "b" });
  expect(await get(server, "/loglevel")).toEqual([200, "error\n"]);
  expect(await get(server, "/loglevel", { method: "PUT", body: "fatal\n" })).toEqual([200, "fatal\n"]);
  expect([logger.level, grandchild.level]).toEqual(["fatal", "fatal"]);
  expect((await get(server, "/loglevel", { method: "PUT", body: "loud" }))[1]).toContain("one of trace, debug");
  expect((await get(server, "/loglevel", { method: "DELETE" }))[0]).toBe(405);
  expect((await get(server, "/loglevel", { method: "PUT", body: "x".repeat(5000) }))[0]).toBe(413);
  expect(grandchild.level).toBe("fatal");
});

test("only callers inside the pod change the log level", () => {
  for (const near of ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"]) expect(isLoopback(near)).toBe(true);
  for (const far of ["", "10.0.0.1", "::ffff:10.0.0.1", "fe80::1", "127.0.0.1.evil", "1::1"]) {
    expect(isLoopback(far)).toBe(false);
  }
});

test("SIGUSR2 switches to debug and back", async () => {
  const logger = createLogger({ program: "test", level: "fatal" });
  const silent = createLogger({ program: "test", level: "fatal" });
  const stop = toggleOnSignal(levelControl(logger), silent);
  process.kill(process.pid, "SIGUSR2");
  while (logger.level !== "debug") await Bun.sleep(1);
  process.kill(process.pid, "SIGUSR2");
  while (logger.level !== "fatal") await Bun.sleep(1);
  stop();
});

test("what is not there says what is", async () => {
  expect(await get(start(), "/")).toEqual([404, "there are /livez, /readyz, /metrics and /loglevel\n"]);
});
