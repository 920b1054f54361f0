/**
 * rpc-server FOLDER [PORT]: the server that every agent is: Connect over mutual TLS, HTTP/2 and HTTP/1.1 on one port, callers
 * known by the URI in their certificate. Reads server.crt, server.key and ca.crt; the line "rotate" on standard input
 * makes it read them again.
 */
import { readFileSync } from "node:fs";
import { createSecureServer, type Http2ServerRequest } from "node:http2";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { TLSSocket } from "node:tls";
import {
  Code,
  ConnectError,
  type ConnectRouter,
  createContextKey,
  createContextValues,
  type HandlerContext,
} from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { AgentService } from "../../../pkg/rpc/gen/valkey/agent/v1/agent_pb.ts";
import { ProbeService } from "./rpc-service.ts";
import { say } from "./say.ts";

interface Caller {
  readonly uri: string;
  readonly http: string;
}

const CALLER = createContextKey<Caller>({ uri: "", http: "" });

export function serveRpc([folder = ".", port = "0"]: readonly string[]): void {
  const read = () => ({
    cert: readFileSync(join(folder, "server.crt")),
    key: readFileSync(join(folder, "server.key")),
    ca: readFileSync(join(folder, "ca.crt")),
  });
  const handler = connectNodeAdapter({
    routes,
    contextValues: (request) => createContextValues().set(CALLER, callerOf(request)),
  });
  const server = createSecureServer(
    { ...read(), requestCert: true, rejectUnauthorized: true, minVersion: "TLSv1.3", allowHTTP1: true },
    handler,
  );
  server.on("tlsClientError", (error: Error & { code?: string }) =>
    say({ refused: `${error.code ?? ""} ${error.message}` }),
  );
  server.listen(Number(port), "127.0.0.1", () => say({ port: (server.address() as AddressInfo).port }));
  createInterface({ input: process.stdin }).on("line", (line) => {
    if (line !== "rotate") return;
    server.setSecureContext(read());
    say({ rotated: true });
  });
  process.once("SIGTERM", () => server.close(() => process.exit(0)));
}

/** Ends with the reason of the signal, which has the right code; the timer's own error would be told as Internal. */
async function wait(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => signal.throwIfAborted());
}

/** Must not throw: an exception here would end the process. */
function callerOf(
  request: Pick<Http2ServerRequest, "httpVersion" | "socket"> | { socket: unknown; httpVersion: string },
): Caller {
  const session = "stream" in request ? (request as Http2ServerRequest).stream?.session : undefined;
  const socket: unknown = session?.socket ?? request.socket;
  const names = socket instanceof TLSSocket ? (socket.getPeerCertificate().subjectaltname ?? "") : "";
  const uri = names.split(", ").find((name) => name.startsWith("URI:"));
  const caller = { uri: uri?.slice("URI:".length) ?? "", http: request.httpVersion };
  say({ request: caller });
  return caller;
}

function routes(router: ConnectRouter): void {
  router.service(AgentService, {
    getInfo: (_, context) => {
      const { uri, http } = allowed(context);
      return { version: http, commit: uri, protocol: 1, bootId: "boot" };
    },
  });
  router.service(ProbeService, {
    async *count({ value }, context) {
      for (let number = 1; number <= value; number++) {
        await wait(20, context.signal);
        yield { value: String(number) };
      }
    },
    async wait({ value }, context) {
      context.signal.addEventListener("abort", () => say({ aborted: true }));
      await wait(value, context.signal);
      return { value: "waited" };
    },
  });
}

function allowed(context: HandlerContext): Caller {
  const caller = context.values.get(CALLER);
  if (caller.uri.endsWith("/operator")) return caller;
  throw new ConnectError(`${caller.uri} may not ask for this`, Code.PermissionDenied);
}
