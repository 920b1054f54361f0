import { afterEach, expect, test } from "bun:test";
import { connect as connectHttp2 } from "node:http2";
import { connect as connectTls } from "node:tls";
import { createLogger } from "../log/log.ts";
import { createRoot, encodeCertificates, encodeKey, issueLeaf } from "../pki/pki.ts";
import type { AdmissionHandler } from "./admission-call.ts";
import { type ServedCall, type ServedCertificate, WebhookServer, type WebhookServerOptions } from "./webhook-server.ts";

const log = createLogger({ program: "test", level: "fatal" });
const now = new Date();
const root = await createRoot({ name: "root", now, lifetimeMs: 3_600_000 });
const ca = encodeCertificates([root.certificate]);

async function pair(): Promise<ServedCertificate> {
  const leaf = await issueLeaf(root, { name: "webhook", now, lifetimeMs: 600_000, names: { ip: ["127.0.0.1"] } });
  return { cert: encodeCertificates([leaf.certificate]), key: await encodeKey(leaf.keys.privateKey) };
}
const certificate = await pair();

const running: WebhookServer[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((server) => server.close(AbortSignal.timeout(1000))));
});

async function start(handler: AdmissionHandler, more: Partial<WebhookServerOptions> = {}): Promise<WebhookServer> {
  const handlers = { "/validate": handler };
  const server = await WebhookServer.listen({ certificate, handlers, log, host: "127.0.0.1", ...more });
  running.push(server);
  return server;
}

const review = JSON.stringify({
  apiVersion: "admission.k8s.io/v1",
  kind: "AdmissionReview",
  request: {
    uid: "u-1",
    kind: { group: "", version: "v1", kind: "ConfigMap" },
    resource: { group: "", version: "v1", resource: "configmaps" },
    operation: "CREATE",
    userInfo: { username: "ann" },
    object: { metadata: { name: "a" } },
  },
});

interface Sent {
  readonly path?: string;
  readonly method?: string;
  readonly type?: string;
  readonly body?: string | undefined;
}

async function send(server: WebhookServer, sent: Sent = {}): Promise<{ code: number; text: string }> {
  const { path = "/validate?timeout=10s", method = "POST", type = "application/json", body = review } = sent;
  const response = await fetch(`https://127.0.0.1:${server.port}${path}`, {
    method,
    headers: { "content-type": type },
    ...(method === "GET" ? {} : { body }),
    tls: { ca },
    keepalive: false,
  });
  return { code: response.status, text: await response.text() };
}

async function failureOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(() => "no failure", String);
}

async function sendHttp2(server: WebhookServer, body: string): Promise<string> {
  const session = connectHttp2(`https://127.0.0.1:${server.port}`, { ca });
  const stream = session.request({ ":method": "POST", ":path": "/validate", "content-type": "application/json" });
  let text = "";
  stream.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
  stream.end(body);
  await new Promise((resolve, reject) => stream.once("end", resolve).once("error", reject));
  session.destroy();
  return text;
}

test("a handler's word reaches the caller by HTTP/1.1 and by HTTP/2", async () => {
  const server = await start((request) => ({ allowed: false, message: `not ${request.userInfo.username}` }));
  const { code, text } = await send(server);
  expect(code).toBe(200);
  expect(text).toContain('"uid":"u-1","allowed":false');
  expect(text).toContain("not ann");
  expect(await sendHttp2(server, review)).toBe(text);
});

test.each([
  [
    "throws at once",
    (): never => {
      throw new Error("boom");
    },
  ],
  [
    "rejects later",
    async () => {
      await Bun.sleep(1);
      throw new Error("boom");
    },
  ],
] satisfies [string, AdmissionHandler][])("a handler that %s gives an error that says so", async (_, handler) => {
  const calls: ServedCall[] = [];
  const server = await start(handler, { onServed: (call) => calls.push(call) });
  const { code, text } = await send(server);
  expect(code).toBe(500);
  expect(text).toContain('"kind":"Status"');
  expect(text).toContain("failed on this object: boom");
  expect(calls).toMatchObject([{ path: "/validate", outcome: "handler-failed" }]);
});

test("a handler that hangs is answered for before the caller's patience ends, and is told", async () => {
  let told = false;
  const server = await start(async (_, signal) => {
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    told = true;
    return { allowed: true };
  });
  const began = performance.now();
  const { code, text } = await send(server, { path: "/validate?timeout=300ms" });
  expect(performance.now() - began).toBeLessThan(1500);
  expect(code).toBe(504);
  expect(text).toContain("could not decide within 270 ms");
  expect(told).toBe(true);
});

test.each([
  [404, { path: "/other" }, "no webhook is served at /other"],
  [405, { method: "GET" }, "POST"],
  [415, { type: "text/plain" }, "application/json"],
  [400, { body: "{" }, "no JSON"],
  [400, { body: "{}" }, "apiVersion"],
  [413, { body: `${" ".repeat(2000)}${review}` }, "larger than 1024 bytes"],
] satisfies [number, Sent, string][])("what is no call is answered with %d", async (code, sent, message) => {
  const server = await start(() => ({ allowed: true }), { bodyLimit: 1024 });
  const answer = await send(server, sent);
  expect(answer.code).toBe(code);
  expect(answer.text).toContain(message);
  // The server goes on.
  expect((await send(server)).text).toContain('"allowed":true');
});

test("a body that never ends is not waited for", async () => {
  const server = await start(() => ({ allowed: true }));
  const socket = connectTls({ port: server.port, host: "127.0.0.1", ca });
  let text = "";
  socket.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
  const answered = new Promise((resolve) => socket.once("data", resolve));
  socket.write(
    "POST /validate?timeout=200ms HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{",
  );
  await answered;
  socket.destroy();
  expect(text).toStartWith("HTTP/1.1 408");
});

test("a path that is none gets an answer too", async () => {
  const server = await start(() => ({ allowed: true }));
  const socket = connectTls({ port: server.port, host: "127.0.0.1", ca });
  const answered = new Promise<string>((resolve) => socket.setEncoding("utf8").once("data", resolve));
  socket.write("POST //[ HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n");
  expect(await answered).toStartWith("HTTP/1.1 400");
  socket.destroy();
});

test("all calls together take only so much memory, and give it back", async () => {
  const entered = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const server = await start(
    async () => {
      entered.resolve();
      await release.promise;
      return { allowed: true };
    },
    { bodiesLimit: review.length * 1.5 },
  );
  const first = send(server);
  await entered.promise;
  expect((await send(server)).code).toBe(429);
  release.resolve();
  expect((await first).code).toBe(200);
  expect((await send(server)).code).toBe(200);
});

test("a new certificate is served at once, without a new server", async () => {
  const server = await start(() => ({ allowed: true }));
  const served = async () =>
    new Promise<string>((resolve, reject) => {
      const socket = connectTls({ port: server.port, host: "127.0.0.1", ca }, () => {
        resolve(socket.getPeerCertificate().serialNumber.toLowerCase());
        socket.destroy();
      });
      socket.once("error", reject);
    });
  const before = await served();
  server.setCertificate(await pair());
  const after = await served();
  expect(after).not.toBe(before);
  expect((await send(server)).code).toBe(200);
});

test("closing lets a running call end and takes no new one", async () => {
  const entered = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const server = await start(async () => {
    entered.resolve();
    await release.promise;
    return { allowed: true };
  });
  const call = send(server);
  await entered.promise;
  const { port } = server;
  const closing = server.close(AbortSignal.timeout(5000));
  release.resolve();
  expect((await call).text).toContain('"allowed":true');
  await closing;
  expect(await failureOf(fetch(`https://127.0.0.1:${port}/validate`, { tls: { ca } }))).toContain("connect");
});

test("closing does not wait for a caller that keeps its idle connections", async () => {
  const server = await start(() => ({ allowed: true }));
  const session = connectHttp2(`https://127.0.0.1:${server.port}`, { ca });
  await new Promise((resolve) => session.once("remoteSettings", resolve));
  const socket = connectTls({ port: server.port, host: "127.0.0.1", ca });
  await new Promise((resolve) => socket.once("secureConnect", resolve));
  const gone = Promise.all([session, socket].map(async (one) => new Promise((resolve) => one.once("close", resolve))));
  // Without a reader a socket does not see its end.
  socket.resume();
  const deadline = AbortSignal.timeout(5000);
  await server.close(deadline);
  await gone;
  expect(deadline.aborted).toBe(false);
});

test("closing does not wait for ever", async () => {
  const entered = Promise.withResolvers<void>();
  const server = await start(async (_, signal) => {
    entered.resolve();
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    return { allowed: true };
  });
  const call = send(server, { path: "/validate?timeout=3s" }).catch(() => "cut");
  await entered.promise;
  await server.close(AbortSignal.timeout(50));
  running.length = 0;
  expect(await call).toBe("cut");
});

test("a handshake that fails is counted", async () => {
  const codes: string[] = [];
  const server = await start(() => ({ allowed: true }), { onTlsError: (code) => codes.push(code) });
  expect(await failureOf(fetch(`https://127.0.0.1:${server.port}/`, { keepalive: false }))).toContain("certificate");
  while (codes.length === 0) await Bun.sleep(1);
  expect(codes).toHaveLength(1);
});
