/** rpc-stack: our own RPC server and clients in one binary, and of the runtime what they alone rely on. */
import { connect as connectTcp, type LookupFunction } from "node:net";
import { connect as connectTls } from "node:tls";
import { OperatorService } from "../../../pkg/rpc/gen/valkey/operator/v1/operator_pb.ts";
import {
  failure,
  NODE,
  node,
  OPERATOR,
  PEER,
  startAgent,
  startClients,
  TestAuthority,
} from "../../../pkg/rpc/test-peers.ts";
import { until } from "../../lib/until.ts";
import { say } from "./say.ts";

const CONNECTIONS = 'rpc_connections{server="agent"}';
/** A session of HTTP/2 takes a thousand empty frames unless told otherwise. */
const MANY = 1100;

export async function useRpcStack(): Promise<void> {
  const authority = await TestAuthority.make();
  await askAgent(authority);
  await reportToOperator(authority);
  await refuse(authority);
  process.exit(0);
}

async function askAgent(authority: TestAuthority): Promise<void> {
  await using agent = await startAgent(await authority.identity(NODE));
  const looked: string[] = [];
  const lookup: LookupFunction = (name, options, done) => {
    looked.push(name);
    if (options.all === true) done(null, [{ address: "127.0.0.1", family: 4 }]);
    else done(null, "127.0.0.1", 4);
  };
  using clients = startClients(await authority.identity(OPERATOR), { lookup });
  const target = { host: "cart-0-0.shop.svc", port: agent.target.port };
  for (let call = 0; call < MANY; call += 1) await clients.agent(target, NODE).configure({});
  say({ http2: { connections: agent.metric(CONNECTIONS), looked } });
  const { message } = await failure(clients.agent(target, node("cart-0-9")).getInfo({}));
  say({ stranger: message.includes("answers at this address") });
}

async function reportToOperator(authority: TestAuthority): Promise<void> {
  await using operator = await startAgent(await authority.identity(OPERATOR), {
    routes: (router) => router.service(OperatorService, { heartbeat: () => ({ leading: true }) }),
  });
  using clients = startClients(await authority.identity(PEER));
  const client = clients.operator(`https://127.0.0.1:${operator.target.port}`, OPERATOR);
  for (let beat = 0; beat < 5; beat += 1) await client.heartbeat({});
  say({ http1: { connections: operator.metric(CONNECTIONS) } });
  const next = await TestAuthority.make();
  operator.identity.replace(await next.identity(OPERATOR));
  await until("the connection of the old authority is closed", () => operator.metric(CONNECTIONS) === 0);
  say({ distrusted: operator.refusals("untrusted-certificate") });
}

async function refuse(authority: TestAuthority): Promise<void> {
  await using agent = await startAgent(await authority.identity(NODE), { handshakeMs: 50 });
  const mute = connectTcp(agent.target).resume();
  await new Promise<void>((resolve) => mute.once("close", () => resolve()));
  await until("the silent one is counted", () => agent.refusals("handshake-timeout") === 1);
  say({ silent: "cut off" });
  const { certificate: cert, key, authorities: ca } = await authority.identity(OPERATOR);
  const socket = connectTls({ ...agent.target, cert, key, ca, checkServerIdentity: () => undefined });
  let tickets = 0;
  socket.on("session", () => (tickets += 1));
  socket.on("secureConnect", () => socket.write("GET / HTTP/1.1\r\nhost: agent\r\nconnection: close\r\n\r\n"));
  const answer = await new Promise<string>((resolve) => socket.once("data", (data) => resolve(String(data))));
  socket.destroy();
  say({ tickets, answered: answer.startsWith("HTTP/1.1 404") });
}
