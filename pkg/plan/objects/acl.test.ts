import { describe, expect, test } from "bun:test";
import { command, ensureExporter } from "../../../test/lab/valkey.ts";
import { until } from "../../../test/lib/until.ts";
import { freePort, ValkeyServer } from "../../../test/lib/valkey-server.ts";
import { type Users, usersOf } from "./acl.ts";
import { counting } from "./fixtures.ts";

/** As the document of the API shows it. */
const DOCUMENT = `
# for password rotation, multiple passwords can be provided
valkey-user:
  name: valkey-admin
  pass: ["myAdminPass"]
replication-user:
  name: primary-replication-user
  pass: ["newReplicationPass", "oldReplicationPass"]
exporter-user:
  name: exporter-user
  pass: ["myExporterPass"]
users:
- name: "valkey-user"
  pass: ["otherPass"]
  acl: "+GET +SET ~app:*"
`;

function users(text: string): Users {
  const outcome = usersOf(text, {}, counting());
  if ("wrong" in outcome) throw new Error(outcome.wrong);
  return outcome.value;
}

function wrong(text: string): string {
  const outcome = usersOf(text, {}, counting());
  return "wrong" in outcome ? outcome.wrong : "nothing is wrong";
}

describe("users", () => {
  test("of the document become lines with hashes only", () => {
    const { lines, replication, exporter } = users(DOCUMENT);
    expect(lines.map((line) => line.replaceAll(/#[0-9a-f]{64}/g, "#"))).toEqual([
      "user default off",
      "user valkey-admin on # ~* &* +@all",
      "user primary-replication-user on # # +psync +replconf +ping",
      "user exporter-user on # +ping +info +client|setname +cluster|info +slowlog|len +slowlog|get +latency|latest +latency|histogram",
      "user valkey-user on # +GET +SET ~app:*",
    ]);
    expect(lines.join()).not.toMatch(/Pass/);
    // Of several the first is the newest.
    expect(replication).toEqual({ username: "primary-replication-user", password: "newReplicationPass" });
    expect(exporter).toEqual({ username: "exporter-user", password: "myExporterPass" });
  });

  test("of our own are made when nobody defines them, and read back", () => {
    const text = 'users: [{name: app, pass: ["x"]}]';
    const { replication, exporter } = users(text);
    expect([replication, exporter]).toEqual([
      { username: "valkey-replication", password: "made-1" },
      { username: "valkey-exporter", password: "made-2" },
    ]);
    const again = usersOf(text, { replication, exporterPassword: exporter.password }, counting());
    expect(again).toMatchObject({ value: { replication, exporter } });
  });

  test("a login of another name is not taken for ours", () => {
    const before = { replication: { username: "theirs", password: "theirs" } };
    expect(usersOf("", before, counting())).toMatchObject({ value: { replication: { password: "made-1" } } });
  });

  test("a first user without a name is the user default", () => {
    expect(users('valkey-user: {name: "", pass: ["x"]}').lines[0]).toMatch(
      /^user default on #[0-9a-f]+ ~\* &\* \+@all$/,
    );
    expect(users('valkey-user: {name: , pass: ["x"]}').lines[0]).toStartWith("user default on");
    expect(users('users: [{name: default, acl: "nopass ~* +@read"}]').lines[0]).not.toBe("user default off");
  });

  test("an empty document closes the door", () => {
    expect(users("").lines[0]).toBe("user default off");
  });
});

describe("what is wrong is said by user and field, without any value", () => {
  test.each<[string, string]>([
    ["users: [}", "acl-definitions.yaml cannot be read as YAML: check its indentation and quotes"],
    ["- a", "acl-definitions.yaml: the document has the fields valkey-user, replication-user, exporter-user and users"],
    [
      "user: []",
      "acl-definitions.yaml: the document has the fields valkey-user, replication-user, exporter-user and users",
    ],
    ["users: [{pass: [s3cret]}]", "acl-definitions.yaml: users[0] name is missing"],
    ["users: [{name: app, s3cret}]", "acl-definitions.yaml: users[0] (app) has the fields name, pass and acl"],
    [
      "users: [{name: app, pass: s3cret}]",
      'acl-definitions.yaml: users[0] (app) pass must be a list of texts: ["..."]',
    ],
    ["users: [{name: app, pass: [12345]}]", "acl-definitions.yaml: users[0] (app) pass[0] must be a text in quotes"],
    ['users: [{name: app, pass: [""]}]', "acl-definitions.yaml: users[0] (app) pass[0] must not be empty"],
    [
      'users: [{name: app, acl: "+get >s3cret"}]',
      "acl-definitions.yaml: users[0] (app) acl must not hold passwords: they go into pass",
    ],
    [
      'users: [{name: app, acl: "reset"}]',
      "acl-definitions.yaml: users[0] (app) acl must not hold reset or resetpass: a user begins without any right",
    ],
    [
      'users: [{name: app, pass: [a], acl: "+get\\nuser x on"}]',
      "acl-definitions.yaml: users[0] (app) acl must be one line",
    ],
    [
      "users: [{name: app}]",
      "acl-definitions.yaml: users[0] (app) has no password: give pass, or say nopass in acl if anybody may be this user",
    ],
    [
      'users: [{name: app, pass: [a], acl: "NOPASS"}]',
      "acl-definitions.yaml: users[0] (app) has passwords and says nopass: keep one of them",
    ],
    [
      'users: [{name: "a b", pass: [s3cret]}]',
      "acl-definitions.yaml: users[0] name must not hold spaces or control characters",
    ],
    [
      "users: [{name: valkey-agent, pass: [a]}]",
      "acl-definitions.yaml: users[0] name is a name that the operator uses itself: choose another",
    ],
    [
      'valkey-user: {name: root, pass: [a], acl: "+@all"}',
      "acl-definitions.yaml: valkey-user (root) acl has a name and passwords only: its rights are fixed",
    ],
    [
      "{valkey-user: {name: app, pass: [a]}, users: [{name: app, pass: [b]}]}",
      "acl-definitions.yaml: the user app is defined twice",
    ],
    [
      "users: [{name: valkey-exporter, pass: [b]}]",
      "the user valkey-exporter is one that the operator makes itself: choose another name, or define it as replication-user or exporter-user",
    ],
    ["users: [{}, {}, {}, {}, {}]", "and 2 more"],
  ])("%j", (text, message) => {
    expect(wrong(text)).toContain(message);
    expect(wrong(text)).not.toContain("s3cret");
  });
});

describe.each(["8.1", "9.1"] as const)("on Valkey %s", (version) => {
  test("everybody may do what is theirs, and nobody else gets in", async () => {
    const { lines, replication } = users(DOCUMENT);
    await using server = await ValkeyServer.start({
      version,
      acl: lines,
      credentials: { username: "valkey-admin", password: "myAdminPass" },
    });
    const refusal = async (credentials: { username?: string; password?: string }, ...args: string[]) => {
      const connection = await server.connect(credentials);
      try {
        return String(await connection.call(...args).catch((error: Error) => error.message));
      } finally {
        connection.close();
      }
    };
    expect(await refusal({}, "PING")).toContain("NOAUTH");
    const app = { username: "valkey-user", password: "otherPass" };
    expect(await refusal(app, "SET", "app:1", "x")).toBe("OK");
    expect(await refusal(app, "SET", "other", "x")).toContain("NOPERM");
    expect(await refusal(replication, "PING")).toBe("PONG");
    expect(await refusal(replication, "GET", "app:1")).toContain("NOPERM");
  });

  test("a replica that logs in as the replication user gets the data", async () => {
    const { lines, replication } = users('valkey-user: {name: admin, pass: ["root"]}');
    const credentials = { username: "admin", password: "root" };
    await using primary = await ValkeyServer.start({ version, acl: lines, credentials });
    await primary.send("SET", "key", "value");
    const config = [
      ["replicaof", `127.0.0.1 ${primary.address.port}`],
      ["primaryuser", replication.username],
      ["primaryauth", replication.password],
    ] as const;
    await using replica = await ValkeyServer.start({ version, acl: lines, credentials, config });
    await until("the replica has the key", async () => (await replica.send("GET", "key")) === "value");
  });

  test("the exporter reads all it asks for with its own rights", async () => {
    const { lines, exporter } = users('valkey-user: {name: admin, pass: ["root"]}');
    const credentials = { username: "admin", password: "root" };
    const config = [["cluster-enabled", "yes"]] as const;
    await using server = await ValkeyServer.start({ version, acl: lines, credentials, config });
    const port = await freePort();
    const { root } = await ensureExporter();
    const program = Bun.spawn(
      [
        ...command(root, "prometheus-redis-exporter"),
        `-redis.addr=redis://127.0.0.1:${server.address.port}`,
        "-config-command=-",
        `-web.listen-address=127.0.0.1:${port}`,
      ],
      {
        env: { REDIS_USER: exporter.username, REDIS_PASSWORD: exporter.password },
        stdout: "ignore",
        stderr: "ignore",
      },
    );
    try {
      const metrics = await until("metrics", async () => {
        const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
        return text.includes("redis_up 1") ? text : undefined;
      });
      expect(metrics).toContain("redis_cluster_known_nodes");
      expect(metrics).toContain("redis_slowlog_length");
      expect(await server.send("ACL", "LOG")).toEqual([]);
    } finally {
      program.kill();
      await program.exited;
    }
  });
});
