import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { VALKEY_VERSIONS } from "../../../test/lab/valkey.ts";
import { AGENT, ControlledServer, wanted } from "../../../test/lib/controlled-server.ts";
import { until } from "../../../test/lib/until.ts";
import { isValkeyError } from "../../valkey/valkey-error.ts";

const soon = () => AbortSignal.timeout(5000);
const OPEN = "user default on nopass ~* &* +@all";

describe.each([...VALKEY_VERSIONS])("Valkey %s", (version) => {
  let node: ControlledServer;
  beforeAll(async () => {
    const config = [["hz", "50"] as const];
    node = await ControlledServer.node({ version, config });
  });
  afterAll(() => node[Symbol.asyncDispose]());

  /** What the harness itself sets; without it everything would go back to its default. */
  const base = [
    ["cluster-node-timeout", "1000"],
    ["cluster-allow-replica-migration", "no"],
    ["cluster-replica-no-failover", "yes"],
    ["save", ""],
    ["repl-diskless-sync-delay", "0"],
    ["repl-ping-replica-period", "1"],
  ] as const;
  const apply = (...settings: (readonly [string, string])[]) =>
    node.control.apply(wanted([...base, ...settings]), soon());
  const sets = async () => {
    const stats = String(await node.send("INFO", "commandstats"));
    return Number(/cmdstat_config\|set:calls=(\d+)/u.exec(stats)?.[1] ?? 0);
  };

  test("what differs is set in one command; what is the same is not touched", async () => {
    const before = await sets();
    const applied = await apply(["maxmemory", "100mb"], ["maxmemory-policy", "ALLKEYS-LRU"], ["hz", "50"]);
    expect(applied).toMatchObject({ configurationHash: "configuration-1", secretsHash: "secrets-1" });
    expect([applied.needsRestart, applied.refusals]).toEqual([[], []]);
    expect(await node.configured("maxmemory")).toBe("104857600");
    expect(await node.configured("maxmemory-policy")).toBe("allkeys-lru");
    expect((await sets()) - before).toBe(1);
    await apply(["maxmemory", "100MB"], ["maxmemory-policy", "allkeys-lru"], ["hz", "50"]);
    expect((await sets()) - before).toBe(1);
  });

  test("what is not wanted any more goes back to its default", async () => {
    await apply(["timeout", "7"], ["hz", "50"]);
    expect(await node.configured("maxmemory")).toBe("0");
    expect(await node.configured("maxmemory-policy")).toBe("noeviction");
    await apply();
    expect(await node.configured("timeout")).toBe("0");
    expect(await node.configured("hz")).toBe("10");
  });

  test("a later one wins, also by its other name", async () => {
    await apply(["slave-priority", "50"], ["replica-priority", "60"], ["slave-priority", "70"]);
    expect(await node.configured("replica-priority")).toBe("70");
  });

  test("one that is refused does not keep the others from being set; the server's words are passed on", async () => {
    const applied = await apply(["timeout", "9"], ["maxmemory", "banana"], ["nosuch", "1"], ["maxclients", "900000"]);
    expect(await node.configured("timeout")).toBe("9");
    expect(applied.needsRestart).toEqual([]);
    expect(applied.refusals.map(({ name }) => name)).toEqual(["maxmemory", "nosuch", "maxclients"]);
    expect(applied.refusals[0]?.message).toContain("must be a memory value");
    await apply();
  });

  test("what needs a restart is named, and not tried again and again", async () => {
    const first = await apply(["databases", "5"], ["cluster-port", "1"], ["timeout", "3"]);
    expect(first.needsRestart).toEqual(["databases", "cluster-port"]);
    expect(await node.configured("timeout")).toBe("3");
    const before = await sets();
    const second = await apply(["databases", "5"], ["cluster-port", "1"], ["timeout", "3"]);
    expect(second.needsRestart).toEqual(["databases", "cluster-port"]);
    expect(await sets()).toBe(before);
    expect((await apply()).needsRestart).toEqual([]);
  });

  test("a value that the server writes down in its own way is set once", async () => {
    await apply(["repl-backlog-size", "1"]);
    expect(await node.configured("repl-backlog-size")).toBe("16384");
    const before = await sets();
    await apply(["repl-backlog-size", "1"]);
    expect(await sets()).toBe(before);
    await apply();
  });

  test("hostile names and values change nothing else", async () => {
    const hostile = [
      ["*", "1"],
      ["maxmemory*", "1"],
      ["", "1"],
      ["timeout\r\nFLUSHALL", "1"],
      ["proc-title-template", "{title} \r\n*1\r\n$8\r\nFLUSHALL\r\n"],
      ["__proto__", "x"],
      ["constructor", "x"],
      ["maxclients", "999999999"],
    ] as const;
    await node.send("CLUSTER", "ADDSLOTSRANGE", "0", "16383");
    const applied = await apply(...hostile);
    const refused = new Set(applied.refusals.map(({ name }) => name));
    for (const [name] of hostile) expect([name, refused.has(name)]).toEqual([name, name !== "proc-title-template"]);
    expect(await node.configured("maxmemory")).toBe("0");
    await apply();
  });

  test("a module's line is in force as it was at the start; another needs a restart", async () => {
    await using other = await ControlledServer.node({ version });
    const applied = await other.control.apply(wanted([...base, ["loadmodule", "/a.so"]]), soon());
    expect([applied.needsRestart, applied.refusals]).toEqual([[], []]);
    const changed = await other.control.apply(wanted([...base, ["loadmodule", "/b.so"]]), soon());
    expect(changed.needsRestart).toEqual(["loadmodule"]);
  });

  test("replicas' login is set live and found nowhere else", async () => {
    const secrets = { replication: { username: "valkey-replication", password: "r3pl" } };
    const applied = await node.control.apply(wanted(base, secrets), soon());
    expect(await node.configured("primaryuser")).toBe("valkey-replication");
    expect(await node.configured("primaryauth")).toBe("r3pl");
    expect(Bun.inspect(applied)).not.toContain("r3pl");
    await apply();
    expect(await node.configured("primaryauth")).toBe("");
  });

  test("users where there can be none need a restart; and so do none where there are some", async () => {
    const applied = await node.control.apply(wanted(base, { aclLines: [OPEN] }), soon());
    expect(applied.needsRestart).toEqual(["acl"]);
  });

  test("a server that still reads its data is left alone until it has", async () => {
    await using loading = await ControlledServer.node({
      version,
      config: [
        ["enable-debug-command", "yes"],
        ["key-load-delay", "2000"],
        ["loading-process-events-interval-bytes", "1024"],
      ],
    });
    await loading.send("DEBUG", "POPULATE", "300", "key", "100");
    await loading.send("SAVE");
    await loading.server.kill();
    loading.server.spawn();
    const code = await until("it loads", async () => {
      const error: unknown = await loading.control.apply(wanted(base), soon()).catch((error: unknown) => error);
      return isValkeyError(error) && error.code !== "unreachable" ? error.code : undefined;
    });
    expect(code).toBe("loading");
    await until("it has loaded", async () => (await loading.control.apply(wanted(base), soon())).refusals.length === 0);
  });

  describe("with users", () => {
    let guarded: ControlledServer;
    beforeAll(async () => {
      guarded = await ControlledServer.start({
        version,
        acl: [
          "user default off",
          "user app on >app ~* &* +@all",
          `user ${AGENT.username} on >${AGENT.password} ~* &* +@all`,
        ],
        credentials: { username: "app", password: "app" },
      });
    });
    afterAll(() => guarded[Symbol.asyncDispose]());
    const give = (...aclLines: string[]) =>
      guarded.control.apply(
        wanted(
          [
            ["save", ""],
            ["repl-diskless-sync-delay", "0"],
            ["repl-ping-replica-period", "1"],
          ],
          { aclLines, hash: aclLines.join("|") },
        ),
        soon(),
      );

    test("users are loaded; connections of those who did not change live on; the agent is never locked out", async () => {
      const connection = await guarded.server.connect();
      const applied = await give("user default off", "user app on >app ~* &* +@all", "user new on >n ~n:* +get");
      expect([applied.needsRestart, applied.refusals]).toEqual([[], []]);
      expect(await connection.call("PING")).toBe("PONG");
      connection.close();
      const names = await guarded.send("ACL", "USERS");
      expect(names).toEqual(["app", "default", "new", AGENT.username]);
      expect((await stat(join(guarded.server.dir, "users.acl"))).mode & 0o777).toBe(0o600);
      await give("user default off", "user app on >app ~* &* +@all", `user ${AGENT.username} off`);
      await guarded.control.ping(soon());
      expect(await guarded.send("ACL", "USERS")).toEqual(["app", "default", AGENT.username]);
    });

    test("a bad file leaves the old users in force, on the server and on disk, and says why without passwords", async () => {
      const good = await give("user default off", "user app on >app ~* &* +@all");
      const file = await Bun.file(join(guarded.server.dir, "users.acl")).text();
      const bad = await give("user default off", "user app on >t0ps3cret ~* &* +nosuchcommand");
      expect(bad.refusals).toHaveLength(1);
      expect(bad.refusals[0]).toMatchObject({ name: "acl" });
      expect(bad.refusals[0]?.message).toContain("nosuchcommand");
      expect(bad.secretsHash).toBe(good.secretsHash);
      expect(JSON.stringify(bad.refusals)).not.toContain("t0ps3cret");
      expect(await Bun.file(join(guarded.server.dir, "users.acl")).text()).toBe(file);
      expect(await guarded.send("PING")).toBe("PONG");
    });

    test("a line that would be two users is refused before anything is written", async () => {
      const applied = await give("user default off\nuser evil on nopass ~* +@all", "user app on >app ~* +@all");
      expect(applied.refusals[0]?.message).toContain("line 1");
      expect(await guarded.send("ACL", "USERS")).not.toContain("evil");
    });
  });
});
