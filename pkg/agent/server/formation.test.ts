import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import { VALKEY_VERSIONS } from "../../../test/lab/valkey.ts";
import { ControlledServer } from "../../../test/lib/controlled-server.ts";
import { until } from "../../../test/lib/until.ts";
import { FollowRequestSchema, MeetRequestSchema, OwnRequestSchema } from "../../rpc/gen/valkey/agent/v1/agent_pb.ts";
import { isValkeyError } from "../../valkey/valkey-error.ts";

const soon = () => AbortSignal.timeout(8000);
const failure = (error: unknown) => error;
const codeOf = (error: unknown) => (isValkeyError(error) ? error.code : error);
const messageOf = (error: unknown) => (error instanceof Error ? error.message : "");

const range = (first: number, last: number) => ({ first, last });
async function own(node: ControlledServer, configEpoch: bigint, ...slots: { first: number; last: number }[]) {
  await node.control.own(create(OwnRequestSchema, { nodeId: await node.id(), slots, configEpoch }), soon());
}
async function meet(node: ControlledServer, ...others: ControlledServer[]) {
  const peers = await Promise.all(others.map((other) => other.endpoint()));
  await node.control.meet(create(MeetRequestSchema, { peers }), soon());
}
async function follow(node: ControlledServer, primaryId: string, signal = soon()) {
  await node.control.follow(create(FollowRequestSchema, { nodeId: await node.id(), primaryId }), signal);
}
/** As the lease does it. Primaries of 9.1 that started a moment ago refuse to vote at first. */
async function promote(node: ControlledServer, how: "FORCE" | "TAKEOVER") {
  await until(
    "the node leads",
    async () => {
      if (String(await node.send("ROLE")).startsWith("master")) return true;
      await node.send("CLUSTER", "FAILOVER", how);
      return undefined;
    },
    { everyMs: 500 },
  );
}
const slotsOf = async (node: ControlledServer) => (await node.control.look(soon())).cluster?.slots;
const calls = async (node: ControlledServer, command: string) =>
  Number(
    new RegExp(`cmdstat_${command}:calls=(\\d+)`, "u").exec(String(await node.send("INFO", "commandstats")))?.[1] ?? 0,
  );

describe.each([...VALKEY_VERSIONS])("Valkey %s", (version) => {
  const nodes: ControlledServer[] = [];
  const node = (index: number) => {
    const found = nodes[index];
    if (found === undefined) throw new Error(`no node ${index}`);
    return found;
  };
  beforeAll(async () => {
    const options = { waitMs: 3000 };
    nodes.push(...(await Promise.all([0, 1, 2, 3].map(() => ControlledServer.node({ version }, options)))));
  });
  afterAll(() => Promise.all(nodes.map((each) => each[Symbol.asyncDispose]())));

  test("own: only for the node that is meant, with the epoch, all of it and once", async () => {
    const request = create(OwnRequestSchema, { nodeId: "f".repeat(40), slots: [range(0, 9)], configEpoch: 1n });
    expect(codeOf(await node(0).control.own(request, soon()).catch(failure))).toBe("wrong-node");
    await own(node(0), 7n, range(0, 5460));
    expect((await node(0).control.look(soon())).cluster).toMatchObject({ configEpoch: 7n, slots: [range(0, 5460)] });
    const before = await calls(node(0), "cluster\\|addslotsrange");
    await own(node(0), 7n, range(0, 5460));
    expect(await calls(node(0), "cluster\\|addslotsrange")).toBe(before);
  });

  test("own: adds what is missing, refuses a node that has other slots", async () => {
    await node(0).send("CLUSTER", "DELSLOTSRANGE", "100", "200", "300", "300");
    await own(node(0), 7n, range(0, 5460));
    expect(await slotsOf(node(0))).toMatchObject([range(0, 5460)]);
    const error = await own(node(0), 7n, range(0, 5000)).catch(failure);
    expect(codeOf(error)).toBe("unsafe");
    expect(messageOf(error)).toContain("5001-5460");
    expect(codeOf(await own(node(0), 7n).catch(failure))).toBe("unsafe");
  });

  test("meet: again does no harm; follow: waits for the introduction, refuses slots and itself", async () => {
    await own(node(1), 8n, range(5461, 10_922));
    await own(node(2), 9n, range(10_923, 16_383));
    const primaryId = await node(0).id();
    const following = follow(node(3), primaryId);
    await meet(node(0), node(1), node(2), node(3));
    await following;
    expect(String(await node(3).send("ROLE"))).toStartWith("slave");
    await follow(node(3), primaryId);
    for (const each of nodes) {
      await until("everybody knows everybody", async () => {
        const others = (await each.control.look(soon())).cluster?.nodes ?? [];
        return others.length === 3 && others.every(({ connected, handshake }) => connected && !handshake);
      });
    }
    await meet(node(0), node(1), node(2), node(3));
    await until("nobody shakes hands any more", async () => {
      const others = (await node(0).control.look(soon())).cluster?.nodes ?? [];
      return others.length === 3 && others.every(({ connected, handshake }) => connected && !handshake);
    });
    expect(messageOf(await follow(node(1), primaryId).catch(failure))).toContain("the node owns slots");
    expect(messageOf(await follow(node(0), primaryId).catch(failure))).toContain("cannot follow itself");
    await until("in sync", async () => (await node(3).control.look(soon())).replication?.inSync);
  });

  test("own and follow refuse a node with keys of its own, own refuses a replica", async () => {
    await using stray = await ControlledServer.node({ version, config: [["enable-debug-command", "yes"]] });
    await stray.send("DEBUG", "POPULATE", "10");
    const owned = await own(stray, 1n, range(0, 9)).catch(failure);
    expect([codeOf(owned), messageOf(owned).includes("10 keys")]).toEqual(["unsafe", true]);
    expect(messageOf(await follow(stray, await node(0).id()).catch(failure))).toContain("10 keys of its own");
    expect(messageOf(await own(node(3), 1n, range(0, 5460)).catch(failure))).toContain("is a replica of");
    expect(messageOf(await own(node(1), 1n, range(0, 10_922)).catch(failure))).toContain("which is there");
  });

  test("follow ends in time when the primary never shows up", async () => {
    await using lone = await ControlledServer.node({ version }, { waitMs: 100 });
    const error = await follow(lone, "f".repeat(40)).catch(failure);
    expect(codeOf(error)).toBe("deadline");
    expect(messageOf(error)).toContain("is not known yet");
    await using patient = await ControlledServer.node({ version });
    expect(codeOf(await follow(patient, "f".repeat(40), AbortSignal.timeout(80)).catch(failure))).toBe("aborted");
  });

  test("forget: owners, itself and its primary are refused; strangers are forgotten already", async () => {
    const forget = (each: ControlledServer, ...ids: string[]) => each.control.forget(ids, soon());
    expect(messageOf(await forget(node(0), await node(1).id()).catch(failure))).toContain("owns slots");
    expect(messageOf(await forget(node(0), await node(0).id()).catch(failure))).toContain("is this node itself");
    expect(codeOf(await forget(node(3), await node(0).id()).catch(failure))).toBe("unsafe");
    await forget(node(0), "e".repeat(40));
  });

  test("forget: one that owns slots is refused, one that was replaced is forgotten", async () => {
    const old = await node(0).id();
    await until("state ok", async () => (await node(3).control.look(soon())).cluster?.ok);
    await node(0).server.kill();
    await promote(node(3), "FORCE");
    expect(await slotsOf(node(3))).toMatchObject([range(0, 5460)]);
    expect(
      messageOf(
        await node(3)
          .control.forget([await node(1).id()], soon())
          .catch(failure),
      ),
    ).toContain("owns slots");
    await node(3).control.forget([old], soon());
    await node(3).control.forget([old], soon());
    expect((await node(3).control.look(soon())).cluster?.nodes.map(({ id }) => id)).not.toContain(old);
  });

  test("a shard is reborn: an empty node takes the slots of one that is lost, and everybody follows", async () => {
    const lost = await node(3).id();
    const [empty, early] = await Promise.all([0, 1].map(() => ControlledServer.node({ version })));
    if (empty === undefined || early === undefined) throw new Error("no nodes");
    nodes.push(empty, early);
    await meet(node(1), empty);
    await until("the empty node knows the slots' owner", async () =>
      (await empty.control.look(soon())).cluster?.nodes.some(({ id, slots }) => id === lost && slots.length > 0),
    );
    expect(messageOf(await own(empty, 99n, range(0, 5460)).catch(failure))).toContain("which is there");
    await node(3).server.kill();
    await until("the owner is held for failed", async () =>
      (await empty.control.look(soon())).cluster?.nodes.some(({ id, failed }) => id === lost && failed),
    );
    await own(empty, 99n, range(0, 5460));
    await own(empty, 99n, range(0, 5460));
    const id = await empty.id();
    for (const each of [node(1), node(2)]) {
      await until("everybody has seen it", async () => {
        const { cluster } = await each.control.look(soon());
        return cluster?.ok === true && cluster.nodes.some((other) => other.id === id && other.slots[0]?.last === 5460);
      });
    }
    await node(1).control.forget([lost], soon());
  });
});
