/** Whom clients call, what they make of silence, and what they keep. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type LookupFunction } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import { Program } from "../../test/lib/program.ts";
import { until, within } from "../../test/lib/until.ts";
import { FakeClock } from "../clock/fake-clock.ts";
import { isUnreachable } from "./client-errors.ts";
import { OperatorService } from "./gen/valkey/operator/v1/operator_pb.ts";
import {
  failure,
  NODE,
  node,
  OPERATOR,
  PEER,
  startAgent,
  startClients,
  TestAuthority,
  type TestServer,
} from "./test-peers.ts";

const authority = await TestAuthority.make();
const stranger = await TestAuthority.make();
const operator = await authority.identity(OPERATOR);
let agent: TestServer;
let folder: string;
beforeAll(async () => {
  agent = await startAgent(await authority.identity(NODE));
  folder = await mkdtemp(join(tmpdir(), "rpc-clients-"));
});
afterAll(async () => {
  await agent[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

describe("a call reaches nobody but whom it is meant for:", () => {
  test("another node at a reused address gets no call, and is named", async () => {
    using clients = startClients(operator);
    const error = await failure(clients.agent(agent.target, node("cart-0-5")).configure({}));
    expect(isUnreachable(error)).toBe(true);
    expect(error.code).toBe(Code.Unavailable);
    expect(error.message).toContain("/node/cart-0-5 at https://127.0.0.1");
    expect(error.message).toContain("/node/cart-0-0 answers at this address");
    expect(
      agent.metric('rpc_served_total{server="agent",method="valkey.agent.v1.AgentService/Configure",code="ok"}'),
    ).toBe(0);
    // Meant for whom it is, the same address serves.
    await clients.agent(agent.target, NODE).getInfo({});
  });

  test("the same over HTTP/1.1", async () => {
    await using server = await startAgent(await authority.identity({ ...OPERATOR, namespace: "elsewhere" }), {
      routes: (router) => router.service(OperatorService, { heartbeat: () => ({}) }),
    });
    using clients = startClients(await authority.identity(PEER));
    const error = await failure(clients.operator(`https://127.0.0.1:${server.target.port}`, OPERATOR).heartbeat({}));
    expect(error.message).toContain("spiffe://valkey.local/ns/elsewhere/operator answers at this address");
  });

  test("a server of another authority, or with an expired certificate", async () => {
    const old = new Date(Date.now() - 7_200_000);
    for (const identity of [await stranger.identity(NODE), await authority.identity(NODE, { now: old })]) {
      await using server = await startAgent(identity);
      using clients = startClients(operator);
      const error = await failure(clients.agent(server.target, NODE).getInfo({}));
      expect(isUnreachable(error)).toBe(true);
    }
  });
});

describe("silence is no answer:", () => {
  test("a frozen agent is a deadline, not a hang; thawed or replaced, it is reached again", async () => {
    const file = join(folder, "identity.json");
    await writeFile(file, JSON.stringify(await authority.identity(NODE)));
    const command = [process.execPath, join(import.meta.dir, "test-agent-program.ts"), file];
    await using program = new Program(command);
    const target = { host: "127.0.0.1", port: Number(await program.message("port")) };
    using clients = startClients(operator);
    const client = clients.agent(target, NODE);
    await client.getInfo({});
    program.signal("SIGSTOP");
    const calls = [client.getInfo({}, { timeoutMs: 150 }), client.configure({}, { timeoutMs: 150 })];
    for (const error of await within("the deadlines", 3000, () => Promise.all(calls.map(failure)))) {
      expect(error.code).toBe(Code.DeadlineExceeded);
      expect(error.message).toContain(
        `/node/cart-0-0 at https://127.0.0.1:${target.port} did not answer within 150 ms`,
      );
    }
    // A new connection to a frozen process opens, and its handshake never ends.
    expect((await failure(client.getInfo({}, { timeoutMs: 150 }))).code).toBe(Code.DeadlineExceeded);
    program.signal("SIGCONT");
    await client.getInfo({});
    program.signal("SIGKILL");
    await program.ending();
    expect(isUnreachable(await failure(client.getInfo({})))).toBe(true);
  });

  test("a port that accepts and says nothing, one that nobody listens on, and one that hangs up", async () => {
    const sockets = new Set<{ destroy: () => void }>();
    const mute = createServer((socket) => sockets.add(socket));
    const rude = createServer((socket) => socket.destroy());
    for (const server of [mute, rude]) await new Promise<void>((done) => server.listen(0, "127.0.0.1", () => done()));
    const portOf = (server: typeof mute) => {
      const address = server.address();
      return typeof address === "object" && address !== null ? address.port : 0;
    };
    using clients = startClients(operator);
    for (const port of [portOf(mute), portOf(rude), 1]) {
      const h2 = await failure(clients.agent({ host: "127.0.0.1", port }, NODE).getInfo({}, { timeoutMs: 100 }));
      const h1 = await failure(
        clients.operator(`https://127.0.0.1:${port}`, OPERATOR).heartbeat({}, { timeoutMs: 100 }),
      );
      for (const error of [h2, h1]) {
        expect(isUnreachable(error)).toBe(true);
        expect(error.message).toContain(`127.0.0.1:${port}`);
      }
    }
    expect(clients.size).toBe(0);
    for (const socket of sockets) socket.destroy();
    mute.close();
    rude.close();
  });

  test("the caller's own signal ends a call with its reason", async () => {
    using clients = startClients(operator);
    const abort = new AbortController();
    const call = failure(clients.agent(agent.target, NODE).getInfo({}, { signal: abort.signal }));
    abort.abort(new Error("not needed any more"));
    expect((await call).message).toContain("not needed any more");
  });

  test("a call without a deadline is not sent", async () => {
    using clients = startClients(operator);
    const error = await failure(clients.agent(agent.target, NODE).getInfo({}, { timeoutMs: 0 }));
    expect(error.code).toBe(Code.InvalidArgument);
  });
});

test("names are looked up for every connection: a pod that moved is found", async () => {
  await using moved = await startAgent(await authority.identity(NODE), { host: "127.0.0.2", port: agent.target.port });
  let address = "127.0.0.1";
  const lookup: LookupFunction = (_, options, done) =>
    options.all === true ? done(null, [{ address, family: 4 }]) : done(null, address, 4);
  using clients = startClients(operator, { lookup });
  const client = clients.agent({ host: "cart-0-0.shop.svc", port: agent.target.port }, NODE);
  await client.getInfo({});
  address = "127.0.0.2";
  // The old pod goes; the connection with it.
  await agent[Symbol.asyncDispose]();
  await until("the new pod answers", async () => (await client.getInfo({})).bootId === "boot");
  expect(moved.metric('rpc_connections{server="agent"}')).toBe(1);
  agent = await startAgent(await authority.identity(NODE));
});

test("calls share a connection, idle targets are closed and forgotten, and a kept client connects again", async () => {
  const clock = new FakeClock();
  const clients = startClients(operator, { clock, idleMs: 1000 });
  const connections = () => agent.metric('rpc_connections{server="agent"}');
  const client = clients.agent(agent.target, NODE);
  await Promise.all([client.getInfo({}), client.getInfo({}), client.getState({})]);
  expect(connections()).toBe(1);
  await clock.advance(900);
  await client.getInfo({});
  await clock.advance(900);
  expect(clients.size).toBe(1);
  await clock.advance(600);
  expect(clients.size).toBe(0);
  expect(clock.pendingTimers).toBe(0);
  await until("the connection is closed", () => connections() === 0);
  await client.getInfo({});
  expect(connections()).toBe(1);
  clients.close();
  await until("the connection is closed", () => connections() === 0);
  expect(clock.pendingTimers).toBe(0);
  expect((await failure(client.getInfo({}))).message).toContain("this program stops");
});

test("one connection carries thousands of messages without content, both ways", async () => {
  await using server = await startAgent(await authority.identity(NODE));
  using clients = startClients(operator);
  const client = clients.agent(server.target, NODE);
  let left = 1200;
  const call = async () => {
    while (left > 0) {
      left -= 1;
      await client.configure({});
    }
  };
  await Promise.all([call(), call(), call(), call(), call(), call(), call(), call()]);
  expect(server.metric('rpc_connections{server="agent"}')).toBe(1);
  expect(server.said("handshake-failed")).toBe(false);
});
