import { describe, expect, test } from "bun:test";
import { ValkeyServer } from "../../../test/lib/valkey-server.ts";
import type { ValkeyClusterSpec } from "../../api/cluster-spec.ts";
import { BUILT_IN_DEFAULTS } from "../../api/defaults.ts";
import { resolveSpec } from "../../api/resolve.ts";
import { settingsOf } from "./settings.ts";

function settings(spec: ValkeyClusterSpec): Record<string, string> {
  const resolved = resolveSpec(BUILT_IN_DEFAULTS, undefined, undefined, spec);
  return Object.fromEntries(settingsOf(resolved).map(({ name, value }) => [name, value]));
}

describe("settings", () => {
  test("fields of the spec become lines", () => {
    expect(settings({ cluster: { nodeTimeout: "2m", requireFullCoverage: true } })).toMatchObject({
      "cluster-node-timeout": "120000",
      "cluster-require-full-coverage": "yes",
      save: "60 100",
      appendonly: "yes",
    });
  });

  test("disabled snapshots are said so, or the server would write them by its own default", () => {
    expect(settings({ backup: { database: { enabled: false } } })["save"]).toBe("");
  });

  test("the user's own words win over what the operator would choose", () => {
    expect(settings({ config: { "repl-diskless-sync-delay": 5, "Maxmemory-Policy": "allkeys-lru" } })).toMatchObject({
      "repl-diskless-sync-delay": "5",
      "maxmemory-policy": "allkeys-lru",
    });
  });

  test("maxmemory is left to the agent unless the user sets it", () => {
    expect(settings({})).not.toHaveProperty("maxmemory");
    expect(settings({ config: { maxmemory: "100mb" } })["maxmemory"]).toBe("100mb");
  });

  test("no name comes twice, and the order of config does not matter", () => {
    const config = { "maxmemory-policy": "allkeys-lru", "hash-max-listpack-entries": 64 };
    const turned = { "hash-max-listpack-entries": 64, "maxmemory-policy": "allkeys-lru" };
    const of = (spec: ValkeyClusterSpec) => settingsOf(resolveSpec(BUILT_IN_DEFAULTS, undefined, undefined, spec));
    const names = of({ config }).map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(of({ config })).toEqual(of({ config: turned }));
  });
});

const SPECS: readonly (readonly [string, ValkeyClusterSpec])[] = [
  ["the defaults", {}],
  [
    "persistence off, TLS, several replicas",
    {
      backup: { database: { enabled: false }, aof: { enabled: false } },
      tls: "some",
      replicasPerMaster: 2,
      cluster: { replicaReadOnly: false, allowReadsWhenDown: true },
    },
  ],
  [
    "settings of several parts",
    {
      backup: { database: { save: "3600 1 300 100" } },
      config: {
        "client-output-buffer-limit": "replica 256mb 64mb 60 normal 0 0 0",
        "notify-keyspace-events": "KEA",
        "oom-score-adj-values": "0 200 800",
        "proc-title-template": "{title} {listen-addr}",
      },
    },
  ],
];

describe.each(["8.1", "9.1"] as const)("Valkey %s starts with", (version) => {
  test.each(SPECS)("%s", async (_name, spec) => {
    const lines = settingsOf(resolveSpec(BUILT_IN_DEFAULTS, undefined, undefined, spec));
    // Quoted as one, as an agent writes it: the server takes a value of several parts apart itself.
    const config = lines.map(({ name, value }) => [name, JSON.stringify(value)] as const);
    await using server = await ValkeyServer.start({ version, config });
    for (const { name, value } of lines) {
      // Memory sizes, masks and lists are written down by the server in its own way.
      if (["auto-aof-rewrite-min-size", "notify-keyspace-events", "client-output-buffer-limit"].includes(name))
        continue;
      expect(await server.send("CONFIG", "GET", name)).toEqual([name, value]);
    }
  });
});
