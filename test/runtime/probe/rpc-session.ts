/**
 * rpc-session FOLDER PORT: a long-lived client as the operator keeps one to every agent. Each line on standard input
 * makes it do something: "call", "stream", or "rotate", which changes its identity from first.crt to second.crt without
 * disturbing calls under way.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { AgentService } from "../../../pkg/rpc/gen/valkey/agent/v1/agent_pb.ts";
import { ProbeService } from "./rpc-service.ts";
import { say } from "./say.ts";

export function keepSession([folder = ".", port = ""]: readonly string[]): void {
  const baseUrl = `https://127.0.0.1:${port}`;
  const transportOf = (name: string): Transport => {
    const tls = {
      cert: readFileSync(join(folder, `${name}.crt`)),
      key: readFileSync(join(folder, `${name}.key`)),
      ca: readFileSync(join(folder, "ca.crt")),
    };
    const pings = { pingIntervalMs: 300, pingTimeoutMs: 300 };
    const sessionManager = new Http2SessionManager(baseUrl, pings, tls);
    return createConnectTransport({ baseUrl, httpVersion: "2", sessionManager });
  };
  let transport = transportOf("first");
  const commands: Record<string, () => Promise<void> | void> = {
    call: () => tell("called", () => call(transport)),
    stream: () => tell("streamed", () => stream(transport)),
    rotate: () => {
      transport = transportOf("second");
      say({ rotated: true });
    },
  };
  createInterface({ input: process.stdin }).on("line", (line) => void commands[line]?.());
  say({ ready: true });
}

async function call(transport: Transport): Promise<string> {
  return (await createClient(AgentService, transport).getInfo({}, { timeoutMs: 5000 })).commit;
}

async function stream(transport: Transport): Promise<number> {
  let count = 0;
  for await (const _ of createClient(ProbeService, transport).count({ value: 25 }, { timeoutMs: 20_000 })) {
    if (++count === 1) say({ streaming: true });
  }
  return count;
}

async function tell(what: string, work: () => Promise<unknown>): Promise<void> {
  try {
    say({ [what]: await work() });
  } catch (error) {
    say({ [what]: Code[ConnectError.from(error).code] });
  }
}
