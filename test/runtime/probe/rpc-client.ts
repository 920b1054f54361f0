/**
 * rpc-client FOLDER NAME PORT HTTP-VERSION [SERVER-URI]: every kind of call, as NAME.crt with NAME.key; prints what came
 * of each. With SERVER-URI the server is known by the URI in its certificate, whatever address it was dialled at.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { PeerCertificate } from "node:tls";
import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { AgentService } from "../../../pkg/rpc/gen/valkey/agent/v1/agent_pb.ts";
import { ProbeService } from "./rpc-service.ts";
import { say } from "./say.ts";

export async function callRpc(args: readonly string[]): Promise<void> {
  const [folder = ".", name = "", port = "", version = "", serverUri] = args;
  const tls = {
    cert: readFileSync(join(folder, `${name}.crt`)),
    key: readFileSync(join(folder, `${name}.key`)),
    ca: readFileSync(join(folder, "ca.crt")),
    ...(serverUri === undefined ? {} : { checkServerIdentity: serverIs(serverUri) }),
  };
  const baseUrl = `https://127.0.0.1:${port}`;
  const transport =
    version === "2"
      ? createConnectTransport({ baseUrl, httpVersion: "2", nodeOptions: tls })
      : createConnectTransport({ baseUrl, httpVersion: "1.1", nodeOptions: tls });
  say({ unary: await outcome(() => unary(transport)) });
  say({ stream: await outcome(() => stream(transport)) });
  say({ deadline: await outcome(() => deadline(transport)) });
  process.exit(0);
}

function serverIs(uri: string): (host: string, cert: PeerCertificate) => Error | undefined {
  return (_, cert) => {
    const names = cert.subjectaltname?.split(", ") ?? [];
    return names.includes(`URI:${uri}`) ? undefined : new Error(`the server is not ${uri} but ${names.join(", ")}`);
  };
}

async function unary(transport: Transport): Promise<unknown> {
  const info = await createClient(AgentService, transport).getInfo({ protocolMax: 1 }, { timeoutMs: 5000 });
  return { http: info.version, seenAs: info.commit };
}

async function stream(transport: Transport): Promise<unknown> {
  const numbers: string[] = [];
  for await (const { value } of createClient(ProbeService, transport).count({ value: 3 }, { timeoutMs: 5000 })) {
    if (numbers.push(value) === 1) say({ streaming: true });
  }
  return numbers;
}

async function deadline(transport: Transport): Promise<unknown> {
  return createClient(ProbeService, transport).wait({ value: 8000 }, { timeoutMs: 100 });
}

async function outcome(call: () => Promise<unknown>): Promise<unknown> {
  try {
    return await call();
  } catch (error) {
    const { code, rawMessage } = ConnectError.from(error);
    return { code: Code[code], message: rawMessage };
  }
}
