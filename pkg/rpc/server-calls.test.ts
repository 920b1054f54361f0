/** Calls in time, out of time, too large, cut off, and at the end of a server's life. */
import { describe, expect, test } from "bun:test";
import { connect as connectHttp2 } from "node:http2";
import { connect as connectTls } from "node:tls";
import { Code } from "@connectrpc/connect";
import { until, within } from "../../test/lib/until.ts";
import { type Clock, systemClock } from "../clock/clock.ts";
import { isUnreachable } from "./client-errors.ts";
import { OperatorService } from "./gen/valkey/operator/v1/operator_pb.ts";
import type { TlsIdentity } from "./identity.ts";
import type { RpcServerOptions } from "./server.ts";
import {
  agentRoutes,
  failure,
  NODE,
  OPERATOR,
  PEER,
  startAgent,
  startClients,
  TestAuthority,
  type TestServer,
} from "./test-peers.ts";

const authority = await TestAuthority.make();
const own = await authority.identity(NODE);
const operator = await authority.identity(OPERATOR);

/** A server whose getState and heartbeat wait for a word, and that tells what became of them. */
async function waiting(more: Partial<RpcServerOptions> = {}, identity: TlsIdentity = own) {
  const release = Promise.withResolvers<void>();
  const seen = { begun: 0, aborted: 0 };
  const wait = async (signal: AbortSignal) => {
    seen.begun += 1;
    signal.addEventListener("abort", () => (seen.aborted += 1));
    await release.promise;
  };
  const server = await startAgent(identity, {
    routes: (router) => {
      agentRoutes({ getState: wait })(router);
      router.service(OperatorService, {
        heartbeat: async (_, { signal }) => {
          await wait(signal);
          return { leading: true };
        },
      });
    },
    ...more,
  });
  return { server, seen, release: release.resolve };
}

/** Ten times as fast. */
const HASTY: Clock = { ...systemClock, after: (ms, callback) => systemClock.after(ms / 10, callback) };
const soon = () => AbortSignal.timeout(5000);
const connections = (server: TestServer) => server.metric('rpc_connections{server="agent"}');

describe("a handler", () => {
  test("that ignores its signal ends with the caller's deadline, which it is told, counted and logged", async () => {
    const { server, seen } = await waiting();
    using clients = startClients(operator);
    await clients.agent(server.target, NODE).getInfo({});
    const error = await failure(clients.agent(server.target, NODE).getState({}, { timeoutMs: 60 }));
    expect(error.code).toBe(Code.DeadlineExceeded);
    expect(isUnreachable(error)).toBe(true);
    await until("the handler heard of it", () => seen.aborted > 0);
    await until("it is counted", () => server.refusals("deadline") === 1);
    expect(server.said("deadline")).toBe(true);
    await server[Symbol.asyncDispose]();
  });

  test("has no longer than the server allows, whatever the caller says", async () => {
    const { server } = await waiting({ longestCallMs: 40 });
    using clients = startClients(operator);
    const error = await failure(clients.agent(server.target, NODE).getState({}, { timeoutMs: 60_000 }));
    expect(error.code).toBe(Code.DeadlineExceeded);
    expect(error.message).toContain("within 40 ms");
    await server[Symbol.asyncDispose]();
  });

  test("hears that its caller hung up", async () => {
    const { server, seen } = await waiting();
    const clients = startClients(operator);
    const call = failure(clients.agent(server.target, NODE).getState({}));
    await until("it runs", () => seen.begun === 1);
    clients.close();
    expect(isUnreachable(await call)).toBe(true);
    await until("it heard", () => seen.aborted === 1);
    await until("nothing is left", () => connections(server) === 0);
    await server[Symbol.asyncDispose]();
  });

  test("that throws is an internal error to the caller, and told in the log", async () => {
    await using server = await startAgent(own, {
      routes: agentRoutes({ getState: () => Promise.reject(new Error("disk on fire")) }),
    });
    using clients = startClients(operator);
    const error = await failure(clients.agent(server.target, NODE).getState({}));
    expect(error.code).toBe(Code.Internal);
    expect(error.message).not.toContain("fire");
    expect(isUnreachable(error)).toBe(false);
    expect(JSON.stringify(server.log)).toContain("disk on fire");
  });
});

test("a message that is too large is refused, told and counted", async () => {
  await using server = await startAgent(own, { messageLimit: 1000 });
  using clients = startClients(operator);
  const aclLines = Array.from({ length: 200 }, () => "user x on nopass");
  const error = await failure(clients.agent(server.target, NODE).configure({ secrets: { aclLines } }));
  expect(error.code).toBe(Code.ResourceExhausted);
  expect(error.message).toContain("1000");
  expect(server.refusals("too-large")).toBe(1);
  await clients.agent(server.target, NODE).configure({});
});

test("a caller that never ends its message is cut off", async () => {
  await using server = await startAgent(own, { longestCallMs: 30, clock: HASTY });
  const session = connectHttp2(`https://127.0.0.1:${server.target.port}`, tls());
  session.on("error", () => {});
  const stream = session.request({
    ":method": "POST",
    ":path": "/valkey.agent.v1.AgentService/GetInfo",
    "content-type": "application/proto",
    "valkey-protocol": "1",
  });
  stream.on("error", () => {});
  stream.write("x");
  await within("the end of the stream", 3000, () => new Promise<void>((done) => stream.once("close", () => done())));
  session.destroy();
});

test("what is no request does no harm", async () => {
  await using server = await startAgent(own);
  const path = "/valkey.agent.v1.AgentService/GetInfo";
  for (const text of [
    `POST ${path} HTTP/1.0\r\n\r\n`,
    `POST ${path} HTTP/1.1\r\nhost: a b\r\ncontent-length: 0\r\n\r\n`,
    "rubbish\r\n\r\n",
  ]) {
    const socket = connectTls({ ...server.target, ...tls() });
    socket.on("error", () => {});
    socket.on("secureConnect", () => socket.end(text));
    socket.resume();
    await within("the end", 3000, () => new Promise<void>((done) => socket.once("close", () => done())));
  }
  using clients = startClients(operator);
  await clients.agent(server.target, NODE).getInfo({});
});

describe("stopping", () => {
  test("takes no new calls and lets those under way end, over HTTP/2", async () => {
    const { server, seen, release } = await waiting();
    using clients = startClients(operator);
    const call = clients.agent(server.target, NODE).getState({});
    await until("it runs", () => seen.begun === 1);
    const stopping = server.server.stop(soon());
    using others = startClients(operator);
    expect(isUnreachable(await failure(others.agent(server.target, NODE).getInfo({})))).toBe(true);
    release();
    expect(await call).toBeDefined();
    await stopping;
    expect(connections(server)).toBe(0);
  });

  test("lets calls under way end over HTTP/1.1 as well, and does not wait for kept connections", async () => {
    const { server, seen, release } = await waiting({}, await authority.identity(OPERATOR));
    using clients = startClients(await authority.identity(PEER));
    const url = `https://127.0.0.1:${server.target.port}`;
    const call = clients.operator(url, OPERATOR).heartbeat({});
    await until("it runs", () => seen.begun === 1);
    const stopping = server.server.stop(soon());
    release();
    expect(await call).toMatchObject({ leading: true });
    await within("the stop", 2000, () => stopping);
    expect(connections(server)).toBe(0);
  });

  test("ends with its deadline when a call does not", async () => {
    const { server, seen } = await waiting();
    using clients = startClients(operator);
    const call = failure(clients.agent(server.target, NODE).getState({}));
    await until("it runs", () => seen.begun === 1);
    await within("the stop", 2000, () => server.server.stop(AbortSignal.timeout(50)));
    expect(isUnreachable(await call)).toBe(true);
    expect(seen.aborted).toBe(1);
  });
});

function tls() {
  const { certificate: cert, key, authorities: ca } = operator;
  return { cert, key, ca, checkServerIdentity: () => undefined };
}
