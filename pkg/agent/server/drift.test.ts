import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { VALKEY_VERSIONS } from "../../../test/lab/valkey.ts";
import { AGENT, ControlledServer, wanted } from "../../../test/lib/controlled-server.ts";
import { until } from "../../../test/lib/until.ts";
import { FakeClock } from "../../clock/fake-clock.ts";
import { RepairBudget } from "./repair-budget.ts";

const soon = () => AbortSignal.timeout(5000);

test("a difference that keeps coming back is mended five times, then every 30 s, and anew after two quiet minutes", async () => {
  const clock = new FakeClock();
  const budget = new RepairBudget(clock);
  const take = () => budget.take("config timeout");
  expect(Array.from({ length: 7 }, take)).toEqual([true, true, true, true, true, false, false]);
  expect(budget.take("config hz")).toBe(true);
  await clock.advance(30_000);
  expect([take(), take()]).toEqual([true, false]);
  await clock.advance(121_000);
  expect(Array.from({ length: 6 }, take)).toEqual([true, true, true, true, true, false]);
});

describe.each([...VALKEY_VERSIONS])("Valkey %s", (version) => {
  const base = [
    ["cluster-node-timeout", "1000"],
    ["cluster-allow-replica-migration", "no"],
    ["cluster-replica-no-failover", "yes"],
    ["save", ""],
    ["repl-diskless-sync-delay", "0"],
    ["repl-ping-replica-period", "1"],
  ] as const;

  describe("without users", () => {
    let node: ControlledServer;
    const want = wanted([...base, ["maxmemory", "64mb"], ["repl-backlog-size", "1"], ["databases", "7"]]);
    const check = async () =>
      (await node.control.checkDrift(want, soon())).map(({ kind, name, repaired }) => `${kind} ${name} ${repaired}`);
    beforeAll(async () => {
      node = await ControlledServer.node({ version });
      await node.control.apply(want, soon());
    });
    afterAll(() => node[Symbol.asyncDispose]());

    test("what was applied is no drift, nor is what needs a restart", async () => {
      expect(await check()).toEqual([]);
    });

    test("settings that a stranger changed are put back, wanted or not", async () => {
      await node.send("CONFIG", "SET", "maxmemory", "1mb", "timeout", "77", "cluster-replica-no-failover", "no");
      expect((await check()).toSorted()).toEqual([
        "config cluster-replica-no-failover true",
        "config maxmemory true",
        "config timeout true",
      ]);
      expect(await node.configured("maxmemory")).toBe(String(64 * 1024 ** 2));
      expect(await node.configured("timeout")).toBe("0");
      expect(await node.configured("cluster-replica-no-failover")).toBe("yes");
      expect(await check()).toEqual([]);
    });

    test("a fight is not fought for ever, and not in silence", async () => {
      for (let turn = 0; turn < 5; turn++) {
        await node.send("CONFIG", "SET", "hz", "99");
        expect(await check()).toEqual(["config hz true"]);
      }
      await node.send("CONFIG", "SET", "hz", "99");
      expect(await check()).toEqual(["config hz false"]);
      await node.send("CONFIG", "SET", "hz", "10");
    });

    test("a stranger's user is removed, and a password on the open user too", async () => {
      await node.send("ACL", "SETUSER", "mallory", "on", ">m", "~*", "+@all");
      expect(await check()).toEqual(["acl mallory true"]);
      expect(await node.send("ACL", "USERS")).toEqual(["default"]);
      await node.send("ACL", "SETUSER", "default", "-flushall");
      expect(await check()).toEqual(["acl default true"]);
      expect(await check()).toEqual([]);
    });

    test("slots taken away, nodes forgotten, a reset: told until it is mended", async () => {
      await using other = await ControlledServer.node({ version });
      await node.send("CLUSTER", "ADDSLOTSRANGE", "0", "99");
      const { ip, port, busPort } = await other.endpoint();
      await node.send("CLUSTER", "MEET", ip, String(port), String(busPort));
      const otherId = await other.id();
      await until("they know each other", async () =>
        (await node.control.look(soon())).cluster?.nodes.some(({ id, connected }) => id === otherId && connected),
      );
      expect(await check()).toEqual([]);
      await node.send("CLUSTER", "DELSLOTSRANGE", "10", "19");
      expect(await check()).toEqual(["cluster slots 10-19 false"]);
      expect(await check()).toEqual(["cluster slots 10-19 false"]);
      await node.send("CLUSTER", "ADDSLOTSRANGE", "10", "19");
      expect(await check()).toEqual([]);
      await node.send("CLUSTER", "FORGET", otherId);
      expect(await check()).toEqual([`cluster ${otherId} false`]);
      await node.send("CLUSTER", "RESET", "HARD");
      expect(await check()).toEqual([`cluster ${await node.id()} false`]);
      await node.server.kill();
      await rm(join(node.server.dir, "nodes.conf"));
      await node.server.launch();
      expect((await check()).filter((name) => name.startsWith("cluster"))).toEqual([]);
    });
  });

  test("users that a stranger made, changed or deleted are put back; sessions of the others live on", async () => {
    await using node = await ControlledServer.node({
      version,
      acl: [
        "user default off",
        "user app on >app ~* &* +@all",
        `user ${AGENT.username} on >${AGENT.password} ~* &* +@all`,
      ],
      credentials: { username: "app", password: "app" },
    });
    const aclLines = ["user default off", "user app on >app ~* &* +@all", "user reader on >r ~* +@read -@dangerous"];
    const want = wanted(base, { aclLines });
    const check = async () =>
      (await node.control.checkDrift(want, soon())).map(({ kind, name, repaired }) => `${kind} ${name} ${repaired}`);
    await node.control.apply(want, soon());
    expect(await check()).toEqual([]);
    const session = await node.server.connect();
    await session.call("ACL", "SETUSER", "mallory", "on", "nopass", "~*", "+@all");
    await session.call("ACL", "SETUSER", "default", "on", "nopass", "~*", "+@all");
    await session.call("ACL", "DELUSER", "reader");
    expect(await check()).toEqual(["acl default true", "acl mallory true", "acl reader true"]);
    expect(await session.call("ACL", "USERS")).toEqual(["app", "default", "reader", AGENT.username]);
    expect(await check()).toEqual([]);
    session.close();
  });
});
