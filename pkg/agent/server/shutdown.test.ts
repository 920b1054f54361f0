import { describe, expect, test } from "bun:test";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { VALKEY_VERSIONS } from "../../../test/lab/valkey.ts";
import { ControlledServer, wanted } from "../../../test/lib/controlled-server.ts";
import { until } from "../../../test/lib/until.ts";
import { FollowRequestSchema, MeetRequestSchema, OwnRequestSchema } from "../../rpc/gen/valkey/agent/v1/agent_pb.ts";
import { readRdbHeader } from "../../valkey/rdb-header.ts";
import { isValkeyError } from "../../valkey/valkey-error.ts";

const failure = (error: unknown) => error;
const codeOf = (error: unknown) => (isValkeyError(error) ? error.code : error);
const soon = () => AbortSignal.timeout(5000);

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    // No such process.
    return false;
  }
}

describe.each([...VALKEY_VERSIONS])("Valkey %s", (version) => {
  test("a server that persists saves and ends, its process too; ended is ended", async () => {
    await using node = await ControlledServer.start({ version, config: [["save", "3600 1"]] });
    await node.send("SET", "k", "v");
    const { pid } = node.server;
    await node.control.shutdown(true, soon());
    await until("the process is reaped", () => !isAlive(pid));
    expect(await readRdbHeader(join(node.server.dir, "dump.rdb"))).toMatchObject({ empty: false });
    await node.control.shutdown(true, soon());
    await node.server.launch();
    expect(await node.send("GET", "k")).toBe("v");
  });

  test("one that persists nothing, or is told not to, writes nothing", async () => {
    await using none = await ControlledServer.start({ version });
    await none.send("SET", "k", "v");
    await none.control.shutdown(true, soon());
    expect(await readRdbHeader(join(none.server.dir, "dump.rdb"))).toBeUndefined();
    await using told = await ControlledServer.start({ version, config: [["save", "3600 1"]] });
    await told.send("SET", "k", "v");
    await told.control.shutdown(false, soon());
    expect(await readRdbHeader(join(told.server.dir, "dump.rdb"))).toBeUndefined();
  });

  test("one that cannot save says so and goes on", async () => {
    await using node = await ControlledServer.start({ version, config: [["save", "3600 1"]] });
    await node.send("SET", "k", "v");
    await mkdir(join(node.server.dir, "dump.rdb"));
    const error = await node.control.shutdown(true, soon()).catch(failure);
    expect(codeOf(error)).toBe("refused");
    expect(String(error)).toContain("it goes on");
    expect(await node.send("GET", "k")).toBe("v");
  });

  test("a frozen or dying server leads to a clear error within the deadline, whatever was asked of it", async () => {
    await using node = await ControlledServer.node({ version });
    const { control } = node;
    const id = await node.id();
    const want = wanted([["timeout", "5"]], { replication: { username: "u", password: "s3cr3t" } });
    const slots = [{ first: 0, last: 9 }];
    const peers = [{ ip: "127.0.0.1", port: 1, busPort: 2 }];
    const asks: Record<string, (signal: AbortSignal) => Promise<unknown>> = {
      look: (signal) => control.look(signal),
      ping: (signal) => control.ping(signal),
      apply: (signal) => control.apply(want, signal),
      checkDrift: (signal) => control.checkDrift(want, signal),
      own: (signal) => control.own(create(OwnRequestSchema, { nodeId: id, slots }), signal),
      meet: (signal) => control.meet(create(MeetRequestSchema, { peers }), signal),
      follow: (signal) => control.follow(create(FollowRequestSchema, { nodeId: id, primaryId: id }), signal),
      forget: (signal) => control.forget([id], signal),
      shutdown: (signal) => control.shutdown(true, signal),
    };
    await control.look(soon());
    await control.checkDrift(wanted([]), soon());
    process.kill(node.server.pid, "SIGSTOP");
    const began = performance.now();
    for (const [name, ask] of Object.entries(asks)) {
      const error = await ask(AbortSignal.timeout(60)).catch(failure);
      expect([name, codeOf(error)]).toEqual([name, "aborted"]);
      expect(Bun.inspect(error)).not.toContain("s3cr3t");
    }
    // Aborting a shutdown that may have begun takes up to a second more.
    expect(performance.now() - began).toBeLessThan(3500);
    const waiting = Object.entries(asks).map(async ([name, ask]) => ({
      name,
      code: codeOf(await ask(soon()).catch(failure)),
    }));
    await node.server.kill();
    for (const { name, code } of await Promise.all(waiting)) {
      const told = code === "closed" || code === "unreachable" || (name === "shutdown" && code === undefined);
      expect([name, told]).toEqual([name, true]);
    }
  });
});
