import { afterEach, expect, test } from "bun:test";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { isKubeError, type KubeError } from "./kube-error.ts";
import { type KubeRequest, KubeTransport } from "./transport.ts";
import type { Credentials } from "./transport-credentials.ts";

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

const anonymous: Credentials = { current: async () => ({ headers: {} }), refused: () => undefined };

async function serve(handler: Handler, credentials: Credentials = anonymous): Promise<Served> {
  const seen: string[] = [];
  const connections = new Set<unknown>();
  const server: Server = createServer((request, response) => {
    seen.push(`${request.method} ${request.url}`);
    handler(request, response);
  });
  server.on("connection", (socket) => connections.add(socket));
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  const address = server.address();
  const transport = new KubeTransport({
    server: `http://127.0.0.1:${portOf(address)}`,
    userAgent: "test",
    namespace: "default",
    tls: () => ({}),
    credentials,
  });
  cleanups.push(() => {
    transport.close();
    server.closeAllConnections();
    server.close();
  });
  return { transport, seen, connections };
}

interface Served {
  readonly transport: KubeTransport;
  readonly seen: string[];
  readonly connections: ReadonlySet<unknown>;
}

function portOf(address: string | AddressInfo | null): number {
  if (address === null || typeof address === "string") throw new TypeError("not a TCP server");
  return address.port;
}

function get(path = "/x", more: Partial<KubeRequest> = {}): KubeRequest {
  return { action: "get Pod default/x", method: "GET", path, idempotent: true, ...more };
}

async function failure(call: Promise<unknown>): Promise<KubeError> {
  try {
    await call;
  } catch (error) {
    if (isKubeError(error)) return error;
    throw error;
  }
  throw new Error("it did not fail");
}

test("requests one after another use one connection", async () => {
  const { transport, connections } = await serve((_, response) => response.end("{}"));
  for (let n = 0; n < 20; n += 1) await transport.send(get());
  expect(connections.size).toBe(1);
});

test("a server that hangs is given up at the deadline, and the error says what was being done", async () => {
  const { transport } = await serve(() => undefined);
  const error = await failure(transport.send(get("/x", { deadlineMs: 50 })));
  expect(error.code).toBe("deadline");
  expect(error.message).toContain("get Pod default/x: no answer within 0.05 s");
});

test("an answer that stops half-way is given up at the deadline", async () => {
  const { transport } = await serve((_, response) => {
    response.writeHead(200, { "content-length": "100" });
    response.write("{");
  });
  expect((await failure(transport.send(get("/x", { deadlineMs: 50 })))).code).toBe("deadline");
});

test("the caller's signal ends a call at once", async () => {
  const { transport } = await serve(() => undefined);
  const stop = new AbortController();
  const call = failure(transport.send(get("/x", { signal: stop.signal })));
  stop.abort();
  expect((await call).code).toBe("aborted");
  expect((await failure(transport.send(get("/x", { signal: stop.signal })))).code).toBe("aborted");
});

test("429 is waited out when the deadline allows it, also for writes", async () => {
  let refusals = 2;
  const { transport, seen } = await serve((_, response) => {
    if (refusals > 0) response.writeHead(429, { "retry-after": "0" });
    refusals -= 1;
    response.end("{}");
  });
  const reply = await transport.send(get("/x", { method: "POST", idempotent: false, body: "{}" }));
  expect(reply.status).toBe(200);
  expect(seen).toEqual(["POST /x", "POST /x", "POST /x"]);
});

test("429 is the answer when waiting would pass the deadline or is not wanted", async () => {
  const { transport, seen } = await serve((_, response) => {
    response.writeHead(429, { "retry-after": "60" });
    response.end("{}");
  });
  expect(await transport.send(get("/x", { deadlineMs: 2000 }))).toMatchObject({ status: 429, retryAfterMs: 60_000 });
  expect((await transport.send(get("/x", { retryTooMany: false }))).status).toBe(429);
  expect(seen).toHaveLength(2);
});

test("waiting on 429 ends with the caller's signal", async () => {
  const { transport } = await serve((_, response) => {
    response.writeHead(429, { "retry-after": "9" });
    response.end("{}");
  });
  const stop = new AbortController();
  const call = failure(transport.send(get("/x", { signal: stop.signal })));
  setTimeout(() => stop.abort(), 20);
  expect((await call).code).toBe("aborted");
});

test("a broken connection is tried again for what may be repeated, and for nothing else", async () => {
  let breaks = 1;
  const { transport, seen } = await serve((request, response) => {
    breaks -= 1;
    if (breaks >= 0) request.socket.destroy();
    else response.end("{}");
  });
  expect((await transport.send(get("/read"))).status).toBe(200);
  breaks = 1;
  const error = await failure(transport.send(get("/write", { method: "POST", idempotent: false, body: "{}" })));
  expect(error.code).toBe("unreachable");
  expect(error.message).toContain("broke the connection");
  expect(seen).toEqual(["GET /read", "GET /read", "POST /write"]);
});

test("a connection that always breaks is not tried for ever", async () => {
  const { transport, seen } = await serve((request) => request.socket.destroy());
  expect((await failure(transport.send(get()))).code).toBe("unreachable");
  expect(seen).toHaveLength(3);
});

test("an answer cut short is no answer", async () => {
  const { transport } = await serve((request, response) => {
    response.writeHead(200, { "content-length": "100" });
    response.write("{", () => request.socket.destroy());
  });
  const call = transport.send(get("/x", { method: "POST", idempotent: false, body: "{}" }));
  expect((await failure(call)).code).toBe("unreachable");
});

test("nobody listening is said so", async () => {
  const { transport } = await serve(() => undefined);
  const dead = new KubeTransport({ ...transport.connection, server: "http://127.0.0.1:1" });
  const error = await failure(dead.send(get()));
  expect(error.code).toBe("unreachable");
  expect(error.message).toContain("http://127.0.0.1:1 cannot be reached");
});

test("401 renews the credentials once", async () => {
  let issued = 0;
  let token = "old";
  const credentials: Credentials = {
    current: async () => ({ headers: { authorization: `Bearer ${token}` } }),
    refused: () => {
      issued += 1;
      token = "new";
    },
  };
  const { transport, seen } = await serve((request, response) => {
    response.writeHead(request.headers.authorization === "Bearer new" && request.url === "/x" ? 200 : 401);
    response.end("{}");
  }, credentials);
  expect((await transport.send(get())).status).toBe(200);
  expect(issued).toBe(1);
  expect((await transport.send(get("/never"))).status).toBe(401);
  expect(seen).toHaveLength(4);
});

test("credentials that cannot be had name what they were needed for", async () => {
  const credentials: Credentials = {
    current: () => Promise.reject(new Error("the plugin is not installed")),
    refused: () => undefined,
  };
  const { transport } = await serve(() => undefined, credentials);
  const error = await failure(transport.send(get()));
  expect(error.message).toBe("[config] get Pod default/x: the plugin is not installed");
});

test("an opened answer outlives its deadline and ends with the signal", async () => {
  const { transport } = await serve((_, response) => {
    response.writeHead(200);
    response.write("{}\n");
  });
  const stop = new AbortController();
  const message = await transport.open({ ...get(), signal: stop.signal, deadlineMs: 200 });
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  message.on("data", () => undefined);
  message.on("error", () => undefined);
  message.on("close", resolve);
  await Bun.sleep(250);
  expect(message.destroyed).toBe(false);
  stop.abort();
  await closed;
});

test("an answer that is opened and refused is an error with the server's words", async () => {
  const { transport } = await serve((_, response) => {
    response.writeHead(410);
    response.end(JSON.stringify({ kind: "Status", message: "too old", reason: "Expired", code: 410 }));
  });
  const error = await failure(transport.open({ ...get(), signal: new AbortController().signal }));
  expect(error).toMatchObject({ code: "expired", status: 410, reason: "Expired", serverMessage: "too old" });
});
