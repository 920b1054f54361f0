import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { VALKEY_VERSIONS } from "../../test/lab/valkey.ts";
import { freePort, ValkeyServer } from "../../test/lib/valkey-server.ts";
import { ValkeyConnection } from "./connection.ts";
import { pairsOf } from "./replies.ts";
import { SERVER_DEFAULTS, serverDefault } from "./server-defaults.ts";
import { canonicalName, isSecretSetting, isSettingName } from "./setting-names.ts";
import { sameSetting, settingArgument } from "./setting-values.ts";
import { isValkeyError } from "./valkey-error.ts";

test("what a value means, not how it is written", () => {
  const same: [string, string, string][] = [
    ["maxmemory", "100mb", "104857600"],
    ["maxmemory", "1G", "1000000000"],
    ["appendonly", "YES", "yes"],
    ["save", '""', ""],
    ["save", " 900  1 ", "900 1"],
    ["notify-keyspace-events", "KEA", "AKE"],
    ["shutdown-on-sigterm", "now save", "save now"],
    ["unixsocketperm", "0700", "700"],
    ["latency-tracking-info-percentiles", "50.0 99.90", "50 99.9"],
    [
      "client-output-buffer-limit",
      "replica 1gb 512mb 60",
      "normal 0 0 0 slave 1073741824 536870912 60 pubsub 33554432 8388608 60",
    ],
  ];
  for (const [name, wanted, live] of same) expect([name, sameSetting(name, wanted, live)]).toEqual([name, true]);
});

test("a difference stays one", () => {
  const different: [string, string, string][] = [
    ["maxmemory", "100mb", "100000000"],
    ["primaryauth", "1k", "1000"],
    ["masterauth", "Secret", "secret"],
    ["availability-zone", "A", "a"],
    ["notify-keyspace-events", "KE", "AKE"],
    ["save", "900 1", "900 10"],
    ["client-output-buffer-limit", "pubsub 1 1 2", "normal 0 0 0 slave 1 1 1 pubsub 1 1 1"],
    ["timeout", "-5", "5"],
  ];
  for (const [name, wanted, live] of different) expect([name, sameSetting(name, wanted, live)]).toEqual([name, false]);
});

test("names", () => {
  expect(canonicalName("slave-priority")).toBe("replica-priority");
  expect(canonicalName("masterauth")).toBe("primaryauth");
  expect(canonicalName("server_cpulist")).toBe("server-cpulist");
  expect(isSecretSetting("masterauth")).toBe(true);
  for (const name of ["*", "maxmemory*", "", "a b", "A", "save\n"]) expect(isSettingName(name)).toBe(false);
  expect(serverDefault("slave-priority", "9.0.3")).toBe("100");
  expect(serverDefault("slave-priority", "9.2.0")).toBeUndefined();
  expect(serverDefault("slave-priority", "garbage")).toBeUndefined();
});

describe.each([...VALKEY_VERSIONS])("Valkey %s", (version) => {
  let server: ValkeyServer;
  let connection: ValkeyConnection;
  beforeAll(async () => {
    server = await ValkeyServer.prepare({ version });
    const { port } = server.address;
    const conf = [
      `port ${port}`,
      "bind 127.0.0.1",
      "cluster-enabled yes",
      `cluster-port ${await freePort()}`,
      `dir ${server.dir}`,
    ];
    await Bun.write(`${server.dir}/valkey.conf`, conf.join("\n"));
    await server.launch();
    connection = await ValkeyConnection.open({ at: server.address });
  });
  afterAll(async () => {
    connection.close();
    await server[Symbol.asyncDispose]();
  });

  test("the table of defaults is this server's", async () => {
    const live = pairsOf("CONFIG GET", await connection.call(["CONFIG", "GET", "*"]));
    const known = Object.entries(SERVER_DEFAULTS).filter(([name]) => live.has(name));
    expect(known.length).toBeGreaterThan(130);
    expect(Object.fromEntries(known)).toEqual(Object.fromEntries(known.map(([name]) => [name, live.get(name) ?? ""])));
  });

  test("two names of one setting always show one value", async () => {
    const live = pairsOf("CONFIG GET", await connection.call(["CONFIG", "GET", "*"]));
    for (const [name, value] of live) expect([name, live.get(canonicalName(name))]).toEqual([name, value]);
  });

  const size = fc
    .tuple(fc.nat(4000), fc.constantFrom("", "b", "k", "kb", "m", "MB", "g", "Gb"))
    .map((pair) => pair.join(""));
  const limits = fc
    .tuple(fc.constantFrom("normal", "replica", "slave", "pubsub"), size, size, fc.nat(1000))
    .map((parts) => parts.join(" "));
  const flags = fc.array(fc.constantFrom(..."KEg$lshzxetdmnA".split("")), { maxLength: 8 }).map((all) => all.join(""));
  const setting = fc.oneof(
    fc.tuple(fc.constantFrom("maxmemory", "client-query-buffer-limit", "maxmemory-clients"), size),
    fc.tuple(
      fc.constantFrom("activedefrag", "rdbcompression", "no-appendfsync-on-rewrite"),
      fc.constantFrom("yes", "NO", "No"),
    ),
    fc.tuple(
      fc.constantFrom("timeout", "slowlog-log-slower-than", "replica-priority"),
      fc.integer({ min: -2, max: 99_999 }).map(String),
    ),
    fc.tuple(
      fc.constant("client-output-buffer-limit"),
      fc.array(limits, { minLength: 1, maxLength: 3 }).map((all) => all.join("  ")),
    ),
    fc.tuple(fc.constant("notify-keyspace-events"), flags),
    fc.tuple(fc.constant("maxmemory-policy"), fc.constantFrom("allkeys-lru", "ALLKEYS-LFU", "noeviction")),
    fc.tuple(
      fc.constant("maxmemory-clients"),
      fc.nat(100).map((percent) => `${percent}%`),
    ),
    fc.tuple(
      fc.constant("save"),
      fc
        .array(fc.tuple(fc.integer({ min: 1, max: 9999 }), fc.integer({ min: 1, max: 99 })), { maxLength: 3 })
        .map((all) => all.flat().join("  ")),
    ),
    fc.tuple(
      fc.constant("latency-tracking-info-percentiles"),
      fc
        .array(fc.constantFrom("50", "99.0", "99.90", "0.5"), { minLength: 1, maxLength: 3 })
        .map((all) => all.join(" ")),
    ),
    fc.tuple(fc.constant("proc-title-template"), fc.constantFrom("{title} A", "{title}  b", "1k")),
  );

  test("a value that the server took is never different from what it shows", async () => {
    const property = fc.asyncProperty(setting, async ([name, value]) => {
      try {
        await connection.call(["CONFIG", "SET", name, settingArgument(name, value)]);
      } catch (error) {
        // What the server does not take says nothing about what it shows.
        if (isValkeyError(error, "refused")) return;
        throw error;
      }
      const live = pairsOf("CONFIG GET", await connection.call(["CONFIG", "GET", name])).get(name) ?? "";
      expect([name, value, live, sameSetting(name, value, live)]).toEqual([name, value, live, true]);
    });
    await fc.assert(property, { numRuns: 400 });
  });
});
