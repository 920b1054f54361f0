/** Certificates of every level are exchanged on both ends while calls go on; what is no longer trusted ends. */
import { afterAll, describe, expect, test } from "bun:test";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Program } from "../../test/lib/program.ts";
import { until } from "../../test/lib/until.ts";
import { type Clock, systemClock } from "../clock/clock.ts";
import { refusalOf } from "./client-errors.ts";
import { OperatorService } from "./gen/valkey/operator/v1/operator_pb.ts";
import type { TlsIdentity } from "./identity.ts";
import {
  failure,
  HOUR_MS,
  NODE,
  OPERATOR,
  PEER,
  startAgent,
  startClients,
  TestAuthority,
  type TestClients,
  type TestServer,
} from "./test-peers.ts";

const folder = await mkdtemp(join(tmpdir(), "rpc-rotation-"));
afterAll(() => rm(folder, { recursive: true, force: true }));

const authority = await TestAuthority.make();
const next = await TestAuthority.make();
const both = authority.pem + next.pem;

/** Calls without a pause until it is stopped; says how many there were and what failed. */
function callingAll(calls: readonly (() => Promise<unknown>)[]) {
  const stopped = new AbortController();
  const failures: unknown[] = [];
  let count = 0;
  const loop = async (call: () => Promise<unknown>) => {
    while (!stopped.signal.aborted) {
      await call().catch((error: unknown) => failures.push(error));
      count += 1;
    }
  };
  const loops = Promise.all(calls.map(loop));
  return {
    /** Until so many more calls were made. */
    more: async (calls: number) => {
      const before = count;
      await until(`${calls} more calls`, () => count >= before + calls, { everyMs: 1 });
    },
    stop: async () => {
      stopped.abort();
      await loops;
      return failures;
    },
  };
}

interface Pair {
  readonly server: TestServer;
  readonly client: TestClients;
  readonly call: () => Promise<unknown>;
  /** Who each of them is. */
  readonly ids: readonly [typeof NODE | typeof OPERATOR, typeof NODE | typeof OPERATOR];
}

async function operatorToAgent(): Promise<Pair> {
  const server = await startAgent(await authority.identity(NODE));
  const client = startClients(await authority.identity(OPERATOR));
  const agent = client.agent(server.target, NODE);
  return { server, client, call: () => agent.configure({}), ids: [NODE, OPERATOR] };
}

async function agentToOperator(): Promise<Pair> {
  const server = await startAgent(await authority.identity(OPERATOR), {
    routes: (router) => router.service(OperatorService, { heartbeat: () => ({}) }),
  });
  const client = startClients(await authority.identity(PEER));
  const operator = client.operator(`https://127.0.0.1:${server.target.port}`, OPERATOR);
  return { server, client, call: () => operator.heartbeat({}), ids: [OPERATOR, PEER] };
}

describe.each([
  ["HTTP/2", operatorToAgent],
  ["HTTP/1.1", agentToOperator],
])("over %s", (_, start) => {
  test("leaf, intermediate and root rotate on both ends without one failed call", async () => {
    const { server, client, call, ids } = await start();
    const [serverId, clientId] = ids;
    const calling = callingAll([call, call]);
    const sibling = await TestAuthority.make(authority.root);
    // Each line is one replacement; the order is that of a rotation with an overlap.
    const steps: [Pair["server"] | TestClients, Promise<TlsIdentity>][] = [
      [server, authority.identity(serverId)],
      [client, authority.identity(clientId)],
      [client, sibling.identity(clientId)],
      [server, sibling.identity(serverId)],
      [server, sibling.identity(serverId, { authorities: both })],
      [client, sibling.identity(clientId, { authorities: both })],
      [server, next.identity(serverId, { authorities: both })],
      [client, next.identity(clientId, { authorities: both })],
      [client, next.identity(clientId)],
      [server, next.identity(serverId)],
    ];
    for (const [side, identity] of steps) {
      side.identity.replace(await identity);
      await calling.more(6);
    }
    expect(await calling.stop()).toEqual([]);
    client.close();
    await server[Symbol.asyncDispose]();
  });

  test("a connection of an authority that is trusted no more is refused and closed", async () => {
    const { server, client, call, ids } = await start();
    await call();
    const connections = () => server.metric('rpc_connections{server="agent"}');
    expect(connections()).toBe(1);
    server.identity.replace(await next.identity(ids[0], { authorities: next.pem }));
    await until("the connection is closed", () => connections() === 0);
    await until("it is counted", () => server.refusals("untrusted-certificate") > 0);
    await failure(call());
    client.close();
    await server[Symbol.asyncDispose]();
  });
});

test("a certificate that expires under a connection ends it", async () => {
  let ahead = 0;
  const clock: Clock = { ...systemClock, wall: () => systemClock.wall() + ahead };
  await using server = await startAgent(await authority.identity(NODE), { clock });
  using client = startClients(await authority.identity(OPERATOR));
  await client.agent(server.target, NODE).getInfo({});
  ahead = 2 * HOUR_MS;
  const error = await failure(client.agent(server.target, NODE).getInfo({}));
  expect(refusalOf(error)).toBe("expired-certificate");
  expect(error.message).toContain("connect anew");
  await until("the connection is closed", () => server.metric('rpc_connections{server="agent"}') === 0);
});

test("an identity that cannot be used changes nothing on either side", async () => {
  const good = await authority.identity(NODE);
  await using server = await startAgent(good);
  using client = startClients(await authority.identity(OPERATOR));
  const other = await authority.identity(NODE);
  for (const bad of [
    { ...good, key: "no key" },
    { ...good, key: other.key },
    { ...good, authorities: "nobody" },
  ]) {
    server.identity.replace(bad);
    client.identity.replace(bad);
    await client.agent(server.target, NODE).getInfo({});
    using anew = startClients(await authority.identity(OPERATOR));
    await anew.agent(server.target, NODE).getInfo({});
  }
});

test("openssl gets no session to resume, and cannot resume one after a change of the authority", async () => {
  await using server = await startAgent(await authority.identity(NODE));
  const operator = await authority.identity(OPERATOR);
  const files = { cert: join(folder, "tls.crt"), key: join(folder, "tls.key"), session: join(folder, "session") };
  await writeFile(files.cert, operator.certificate);
  await writeFile(files.key, operator.key);
  const path = "/valkey.agent.v1.AgentService/GetInfo";
  const ask = async (...more: string[]) => {
    const identity = ["-cert", files.cert, "-cert_chain", files.cert, "-key", files.key];
    const program = new Program(
      ["openssl", "s_client", "-connect", `127.0.0.1:${server.target.port}`, "-ign_eof", ...identity, ...more],
      { timeoutMs: 10_000 },
    );
    const headers = "content-type: application/json\r\nvalkey-protocol: 1\r\ncontent-length: 2\r\nconnection: close";
    program.say(`POST ${path} HTTP/1.1\r\nhost: agent\r\n${headers}\r\n\r\n{}`);
    return program.ending();
  };
  const first = await ask("-sess_out", files.session);
  expect(first.out).toContain("HTTP/1.1 200");
  expect(first.out).not.toContain("New Session Ticket");
  expect(await Bun.file(files.session).exists()).toBe(false);
  server.identity.replace(await next.identity(NODE));
  const second = await ask();
  expect(second.out).not.toContain("HTTP/1.1");
  expect(second.out).not.toContain("Reused,");
  await until("it is counted", () => server.refusals("untrusted-certificate") > 0);
});
