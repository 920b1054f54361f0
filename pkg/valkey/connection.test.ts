import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { VALKEY_VERSIONS } from "../../test/lab/valkey.ts";
import { until } from "../../test/lib/until.ts";
import { ValkeyServer } from "../../test/lib/valkey-server.ts";
import { appendOnlyHasData } from "./append-only.ts";
import { actionOf, ValkeyConnection } from "./connection.ts";
import { readRdbHeader } from "./rdb-header.ts";
import { ReplyError } from "./resp.ts";
import { isValkeyError, reasonOf } from "./valkey-error.ts";

const failure = (error: unknown) => error;

test("an error names the command and its subcommand, no argument", () => {
  expect(actionOf(["auth", "user", "secret"])).toBe("AUTH");
  expect(actionOf(["config", "set", "masterauth", "secret"])).toBe("CONFIG SET");
  expect(actionOf(["SET", "key", "value"])).toBe("SET");
});

test("no server: unreachable, within the deadline", async () => {
  const error = await ValkeyConnection.open({ at: { path: "/nonexistent.sock" } }).catch(failure);
  expect(isValkeyError(error, "unreachable")).toBe(true);
});

describe.each([...VALKEY_VERSIONS])("Valkey %s", (version) => {
  const server = { path: "" };
  let running: ValkeyServer;
  beforeAll(async () => {
    running = await ValkeyServer.start({
      version,
      credentials: { username: "app", password: "s3cr3t" },
      acl: ["user default off", "user app on >s3cr3t ~* &* +@all"],
      config: [["unixsocket", "valkey.sock"]],
    });
    server.path = join(running.dir, "valkey.sock");
  });
  afterAll(() => running[Symbol.asyncDispose]());

  const open = () => ValkeyConnection.open({ at: server, login: { username: "app", password: "s3cr3t" } });

  test("a pipeline answers in order, errors in their places", async () => {
    const connection = await open();
    const [set, bad, get] = await connection.pipeline([["SET", "k", "v"], ["NOSUCH"], ["GET", "k"]]);
    expect(set).toBe("OK");
    expect(bad).toBeInstanceOf(ReplyError);
    expect(get).toBe("v");
    connection.close();
    expect(await connection.closed).toBe("closed by this side");
    expect(isValkeyError(await connection.call(["PING"]).catch(failure), "closed")).toBe(true);
  });

  test("a wrong password is told as such and quoted nowhere", async () => {
    const login = { username: "app", password: "wr0ng-pass" };
    const error = await ValkeyConnection.open({ at: server, login }).catch(failure);
    expect(isValkeyError(error, "auth")).toBe(true);
    expect(Bun.inspect(error)).not.toContain("wr0ng-pass");
  });

  test("a frozen server leads to a clear error in time, its late answer to no confusion", async () => {
    const connection = await open();
    process.kill(running.pid, "SIGSTOP");
    const began = performance.now();
    const error = await connection.call(["SET", "k", "late"], { deadlineMs: 50 }).catch(failure);
    expect(performance.now() - began).toBeLessThan(500);
    expect(isValkeyError(error, "deadline")).toBe(true);
    const stopped = await connection.call(["PING"], { signal: AbortSignal.timeout(20) }).catch(failure);
    expect(isValkeyError(stopped, "aborted")).toBe(true);
    process.kill(running.pid, "SIGCONT");
    expect(await connection.call(["GET", "k"])).toBe("late");
    connection.close();
  });

  test("a server that owes too many answers is given up", async () => {
    const connection = await open();
    process.kill(running.pid, "SIGSTOP");
    const pings = Array.from({ length: 70 }, () => connection.call(["PING"], { deadlineMs: 20 }).catch(failure));
    await Promise.all(pings);
    process.kill(running.pid, "SIGCONT");
    expect(connection.open).toBe(false);
    expect(await connection.closed).toContain("owes");
  });

  test("files on disk: nothing, an empty snapshot, one with keys and its offset; an append-only file", async () => {
    const connection = await open();
    const dump = join(running.dir, "dump.rdb");
    const folder = join(running.dir, "appendonlydir");
    expect([await readRdbHeader(dump), await appendOnlyHasData(folder)]).toEqual([undefined, undefined]);
    await connection.pipeline([["FLUSHALL"], ["SAVE"]]);
    expect(await readRdbHeader(dump)).toMatchObject({ empty: true, replicationOffset: undefined });
    await connection.pipeline([["SET", "k", "v"], ["SAVE"]]);
    const header = await readRdbHeader(dump);
    expect(header?.empty).toBe(false);
    expect(header?.fields.get("valkey-ver")).toStartWith(version);

    await connection.pipeline([["FLUSHALL"], ["CONFIG", "SET", "appendonly", "yes"]]);
    await until("the append-only file is there", async () =>
      String(await connection.call(["INFO", "persistence"])).includes("aof_rewrite_in_progress:0"),
    );
    expect(await appendOnlyHasData(folder)).toBe(false);
    await connection.call(["SET", "k", "v"]);
    expect(await appendOnlyHasData(folder)).toBe(true);
    connection.close();
  });

  test("the server's death is known within milliseconds, and ends what was awaited", async () => {
    const connection = await open();
    process.kill(running.pid, "SIGSTOP");
    const call = connection.call(["PING"], { deadlineMs: 5000 }).catch(failure);
    const began = performance.now();
    process.kill(running.pid, "SIGKILL");
    expect(typeof (await connection.closed)).toBe("string");
    expect(performance.now() - began).toBeLessThan(200);
    const error = await call;
    expect(isValkeyError(error, "closed")).toBe(true);
    expect(reasonOf(error)).toBe(await connection.closed);
  });
});
