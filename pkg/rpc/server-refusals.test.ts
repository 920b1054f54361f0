/** Who gets in over real connections, who does not, and what each side is told. */
import { afterAll, describe, expect, test } from "bun:test";
import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { Code } from "@connectrpc/connect";
import { until } from "../../test/lib/until.ts";
import { encodeCertificates, encodeKey, issueLeaf, type SpiffeId } from "../pki/pki.ts";
import { isDeposed, isUnreachable, refusalOf } from "./client-errors.ts";
import type { RpcClientsOptions } from "./clients.ts";
import { callerIn, fencingTokenIn, nodeIn, protocolIn } from "./gate.ts";
import { AgentService } from "./gen/valkey/agent/v1/agent_pb.ts";
import { OperatorService } from "./gen/valkey/operator/v1/operator_pb.ts";
import type { TlsIdentity } from "./identity.ts";
import { METHOD_RULES } from "./rules.ts";
import { failure, HOUR_MS, NODE, node, OPERATOR, PEER, startAgent, startClients, TestAuthority } from "./test-peers.ts";

const authority = await TestAuthority.make();
const stranger = await TestAuthority.make();
const own = await authority.identity(NODE);
const agent = await startAgent(own);
afterAll(() => agent[Symbol.asyncDispose]());

describe("served are", () => {
  test("the operator and peers, over HTTP/2", async () => {
    using operator = startClients(await authority.identity(OPERATOR));
    expect(await operator.agent(agent.target, NODE).getInfo({})).toMatchObject({ bootId: "boot" });
    using peer = startClients(await authority.identity(PEER));
    expect(await peer.peer(agent.target, NODE).getStanding({})).toMatchObject({ bootId: "boot" });
  });

  test("nodes at the operator, over HTTP/1.1 on one kept connection", async () => {
    const callers: SpiffeId[] = [];
    const routes: Parameters<typeof startAgent>[1] = {
      routes: (router) =>
        router.service(OperatorService, {
          heartbeat: (_, context) => {
            callers.push(nodeIn(context));
            return { leading: true };
          },
        }),
    };
    await using operator = await startAgent(await authority.identity(OPERATOR), routes);
    using nodes = startClients(await authority.identity(PEER));
    const client = nodes.operator(`https://127.0.0.1:${operator.target.port}`, OPERATOR);
    for (let beat = 0; beat < 3; beat += 1) expect(await client.heartbeat({})).toMatchObject({ leading: true });
    expect(callers).toEqual([PEER, PEER, PEER]);
    expect(operator.metric('rpc_connections{server="agent"}')).toBe(1);
  });

  test("handlers that learn who calls, in which term and protocol", async () => {
    const seen: unknown[] = [];
    await using other = await startAgent(own, {
      routes: (router) =>
        router.service(AgentService, {
          meet: (_, context) => {
            seen.push(callerIn(context), fencingTokenIn(context), protocolIn(context));
            return {};
          },
        }),
    });
    using operator = startClients(await authority.identity(OPERATOR));
    await operator.agent(other.target, NODE).meet({});
    expect(seen).toEqual([OPERATOR, 7, 1]);
  });
});

describe("a handshake is refused, told in the log and counted:", () => {
  const cases: [string, string, () => Promise<TlsIdentity>][] = [
    ["another authority", "untrusted-certificate", () => stranger.identity(OPERATOR, { authorities: authority.pem })],
    [
      "an expired certificate",
      "expired-certificate",
      () => authority.identity(OPERATOR, { now: new Date(Date.now() - 2 * HOUR_MS) }),
    ],
    ["a certificate for servers only", "wrong-purpose", serverOnly],
  ];
  for (const [what, reason, identity] of cases) {
    test(what, async () => {
      using caller = startClients(await identity());
      const error = await failure(caller.agent(agent.target, NODE).getInfo({}));
      expect(isUnreachable(error)).toBe(true);
      expect(error.message).toContain("may refuse our certificate");
      await until("the refusal is counted", () => agent.refusals(reason) === 1);
      expect(agent.said(reason)).toBe(true);
    });
  }

  test("no certificate", async () => {
    const socket = connectTls({ ...agent.target, ca: authority.pem, checkServerIdentity: () => undefined });
    socket.on("error", () => {});
    await closed(socket);
    await until("the refusal is counted", () => agent.refusals("no-certificate") === 1);
  });

  test("TLS 1.2", async () => {
    const { certificate: cert, key } = await authority.identity(OPERATOR);
    const socket = connectTls({ ...agent.target, cert, key, ca: authority.pem, maxVersion: "TLSv1.2" });
    socket.on("error", () => {});
    await closed(socket);
    await until("the refusal is counted", () => agent.refusals("handshake-failed") > 0);
  });

  test("none at all within the time", async () => {
    await using impatient = await startAgent(own, { handshakeMs: 50 });
    await closed(connectTcp(impatient.target));
    await until("the refusal is counted", () => impatient.refusals("handshake-timeout") === 1);
  });

  test("too many unfinished ones, of which the oldest goes; the honest get through", async () => {
    await using busy = await startAgent(own, { handshakesLimit: 3 });
    const idle = [1, 2, 3].map(() => connectTcp(busy.target));
    const [oldest] = idle;
    if (oldest === undefined) throw new Error("no socket");
    const gone = closed(oldest);
    await until("all are seen", () => busy.server.handshakesUnderWay === 3);
    using operator = startClients(await authority.identity(OPERATOR));
    await operator.agent(busy.target, NODE).getInfo({});
    await gone;
    expect(busy.refusals("too-many-handshakes")).toBe(1);
    for (const socket of idle) socket.destroy();
  });

  test("a flood of bad ones leaves a handful of lines", async () => {
    await using flooded = await startAgent(own, { handshakesLimit: 1 });
    const sockets = Array.from({ length: 60 }, () => connectTcp(flooded.target).on("error", () => {}));
    await until("most are cut off", () => flooded.refusals("too-many-handshakes") > 50);
    expect(flooded.log.filter(({ msg }) => msg === "call refused").length).toBeLessThan(10);
    for (const socket of sockets) socket.destroy();
  });
});

describe("a call is refused with the reason, told in the log and counted:", () => {
  interface Refused {
    readonly reason: string;
    readonly code: Code;
    readonly caller: SpiffeId;
    readonly says: string;
    readonly options?: Partial<RpcClientsOptions>;
  }
  const denied = Code.PermissionDenied;
  const cases: Record<string, Refused> = {
    "a node asks what only the operator may": {
      reason: "role-not-allowed",
      code: denied,
      caller: PEER,
      says: "only the operator may call this",
    },
    "another operator": {
      reason: "wrong-deployment",
      code: denied,
      caller: { ...OPERATOR, namespace: "elsewhere" },
      says: "another operator than the one in namespace system",
    },
    "the operator of another trust domain": {
      reason: "foreign-trust-domain",
      code: denied,
      caller: { ...OPERATOR, trustDomain: "evil.local" },
      says: "another trust domain",
    },
    "a protocol that is not spoken": {
      reason: "unspoken-protocol",
      code: Code.FailedPrecondition,
      caller: OPERATOR,
      says: "the caller speaks protocol 8-9, this side speaks protocol 1: the caller is too new",
      options: { protocol: { min: 8, max: 9 } },
    },
  };
  for (const [what, { reason, code, caller, says, options }] of Object.entries(cases)) {
    test(what, async () => {
      const before = agent.refusals(reason);
      using clients = startClients(await authority.identity(caller), options);
      const error = await failure(clients.agent(agent.target, NODE).getInfo({}));
      expect({ code: error.code, reason: refusalOf(error) }).toEqual({ code, reason });
      expect(error.message).toContain(says);
      expect(isUnreachable(error)).toBe(false);
      expect(agent.refusals(reason)).toBe(before + 1);
      expect(agent.said(reason)).toBe(true);
    });
  }

  test("a node of another deployment at a peer", async () => {
    for (const other of [{ name: "other" }, { namespace: "other" }, { kind: "other" }]) {
      using clients = startClients(await authority.identity(node("cart-0-1", other)));
      const error = await failure(clients.peer(agent.target, NODE).getStanding({}));
      expect(refusalOf(error)).toBe("wrong-deployment");
    }
  });

  test("a command in a term that is over", async () => {
    await using fenced = await startAgent(own);
    const identity = await authority.identity(OPERATOR);
    using leader = startClients(identity, { fencingToken: () => 9 });
    using deposed = startClients(identity, { fencingToken: () => 8 });
    await deposed.agent(fenced.target, NODE).configure({});
    await leader.agent(fenced.target, NODE).configure({});
    const error = await failure(deposed.agent(fenced.target, NODE).configure({}));
    expect(isDeposed(error)).toBe(true);
    expect(error.code).toBe(Code.FailedPrecondition);
    expect(error.message).toContain("of term 8, and term 9 commands here");
    expect(fenced.refusals("lower-fencing-token")).toBe(1);
    // Asking is not commanding, and the leader goes on.
    await deposed.agent(fenced.target, NODE).getState({});
    await leader.agent(fenced.target, NODE).meet({});
  });

  test("a command without a term: the own client sends none, a foreign one is refused", async () => {
    using clients = startClients(await authority.identity(OPERATOR), { fencingToken: () => undefined });
    const error = await failure(clients.agent(agent.target, NODE).configure({}));
    expect(error.message).toContain("this replica does not lead");
    const answer = await post("valkey.agent.v1.AgentService/Configure", { "valkey-protocol": "1" });
    expect(answer.headers.get("valkey-refusal")).toBe("no-fencing-token");
    expect(await answer.text()).toContain("failed_precondition");
  });

  test("no protocol named, and a method that is not there", async () => {
    const answer = await post("valkey.agent.v1.AgentService/GetInfo", {});
    expect(answer.headers.get("valkey-refusal")).toBe("unspoken-protocol");
    expect((await post("valkey.agent.v1.AgentService/Nothing", {})).status).toBe(404);
    expect(agent.refusals("unknown-method")).toBe(1);
  });

  test("a method of a newer release is Unimplemented, and not taken for silence", async () => {
    await using older = await startAgent(await authority.identity(OPERATOR));
    using clients = startClients(await authority.identity(PEER));
    const error = await failure(clients.operator(`https://127.0.0.1:${older.target.port}`, OPERATOR).heartbeat({}));
    expect(error.code).toBe(Code.Unimplemented);
    expect(isUnreachable(error)).toBe(false);
  });
});

describe("a server does not start", () => {
  const cases: [string, Parameters<typeof startAgent>[1], string][] = [
    ["when a method has no rule", { rules: new Map() }, "GetInfo has no rule"],
    [
      "without knowing its deployment",
      { own: { trustDomain: "valkey.local", operatorNamespace: "system" } },
      "the server is of none",
    ],
  ];
  test.each(cases)("%s", async (_, options, says) => {
    const error: unknown = await startAgent(own, options).catch((reason: unknown) => reason);
    expect(String(error)).toContain(says);
  });
});

test("every method of our contracts has a rule", () => {
  const commands = [...METHOD_RULES].flatMap(([name, { command }]) => (command ? [name.split("/")[1]] : []));
  expect(commands).toEqual(["Configure", "Own", "Meet", "Follow", "Promote", "Handover", "Forget", "Stop"]);
  expect(METHOD_RULES.size).toBe(14);
});

async function serverOnly(): Promise<TlsIdentity> {
  const leaf = await issueLeaf(authority.between, {
    name: "leaf",
    now: new Date(),
    lifetimeMs: HOUR_MS,
    names: { uri: ["spiffe://valkey.local/ns/system/operator"] },
    usages: ["server"],
  });
  const certificate = encodeCertificates([leaf.certificate, authority.between.certificate]);
  return { certificate, key: await encodeKey(leaf.keys.privateKey), authorities: authority.pem };
}

/** As somebody would who does not use our client. */
async function post(path: string, headers: Record<string, string>): Promise<Response> {
  const { certificate: cert, key } = await authority.identity(OPERATOR);
  return fetch(`https://127.0.0.1:${agent.target.port}/${path}`, {
    method: "POST",
    body: "{}",
    headers: { "content-type": "application/json", ...headers },
    tls: { cert, key, ca: authority.pem, checkServerIdentity: () => undefined },
  });
}

async function closed(socket: Socket): Promise<void> {
  socket.resume();
  await new Promise<void>((resolve) => socket.once("close", () => resolve()));
}
