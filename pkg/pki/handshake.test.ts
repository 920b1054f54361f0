/** Our certificates in real handshakes under this runtime: who gets in, who does not, and what each side sees. */
import { afterEach, expect, test } from "bun:test";
import { connect as connectHttp2, createSecureServer, type Http2SecureServer } from "node:http2";
import { createServer, type Server } from "node:net";
import { callerOf } from "./caller.ts";
import { type HandshakeRequest, handshake } from "./handshake.ts";
import { type Credential, createIntermediate, createRoot, issueLeaf } from "./issue.ts";
import { encodeCertificates, encodeKey, thumbprint } from "./pem.ts";
import type { SpiffeId } from "./spiffe.ts";

const now = new Date();
const hour = 3_600_000;
const made = new Date(now.getTime() - 5 * hour);
const root = await createRoot({ name: "root", now: made, lifetimeMs: 10 * hour });
const other = await createRoot({ name: "root", now: made, lifetimeMs: 10 * hour });
const constraints = { permitted: { uri: ["valkey.example"] } };
const between = await createIntermediate(root, { name: "cart", now: made, lifetimeMs: 9 * hour, constraints });
const ca = encodeCertificates([root.certificate]);

const uriOf = (domain: string, node: string) => `spiffe://${domain}/ns/shop/valkeycluster/cart/node/${node}`;

async function pair(leaf: Credential, chain: readonly Credential[] = [between]) {
  const certificates = [leaf, ...chain].map(({ certificate }) => certificate);
  return { cert: encodeCertificates(certificates), key: await encodeKey(leaf.keys.privateKey) };
}
const leafOf = async (issuer: Credential, uri: string, at = now) =>
  issueLeaf(issuer, {
    name: "node",
    now: at,
    lifetimeMs: hour,
    names: { dns: ["node-0"], ip: ["127.0.0.1"], uri: [uri] },
  });

const server = await leafOf(between, uriOf("valkey.example", "cart-0"));
const client = await leafOf(between, uriOf("valkey.example", "cart-1"));

const open: (Http2SecureServer | Server)[] = [];
afterEach(() => open.splice(0).forEach((one) => one.close()));

async function start(): Promise<number> {
  const tls = await pair(server);
  const http2 = createSecureServer({
    ...tls,
    ca,
    requestCert: true,
    rejectUnauthorized: true,
    minVersion: "TLSv1.3",
    allowHTTP1: true,
  });
  http2.on("request", (request, response) => {
    response.end(JSON.stringify(callerOf(request)));
  });
  http2.on("tlsClientError", () => {});
  open.push(http2);
  return new Promise((resolve) => {
    http2.listen(0, "127.0.0.1", () => {
      const address = http2.address();
      resolve(typeof address === "object" && address !== null ? address.port : 0);
    });
  });
}

async function ask(port: number, credential: { cert: string; key: string } | undefined): Promise<string> {
  return new Promise((resolve) => {
    const session = connectHttp2(`https://127.0.0.1:${port}`, { ca, ...credential });
    session.on("error", () => resolve("refused"));
    session.on("close", () => resolve("refused"));
    const stream = session.request({ ":path": "/" });
    let text = "";
    stream.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
    stream.on("error", () => resolve("refused"));
    stream.on("end", () => {
      resolve(text === "" ? "refused" : text);
      session.destroy();
    });
  });
}

test("a server knows its caller by the URI in the certificate, over HTTP/2 and HTTP/1.1", async () => {
  const port = await start();
  const credential = await pair(client);
  const owner = { namespace: "shop", kind: "valkeycluster", name: "cart" };
  const id = { role: "node", trustDomain: "valkey.example", ...owner, node: "cart-1" };
  expect(JSON.parse(await ask(port, credential))).toEqual({ ok: true, id });
  const response = await fetch(`https://127.0.0.1:${port}/`, { tls: { ca, ...credential }, keepalive: false });
  expect(await response.json()).toEqual({ ok: true, id });
});

test("who has no certificate, another authority's, an expired one or a foreign name does not get in", async () => {
  const port = await start();
  const uri = uriOf("valkey.example", "cart-1");
  const strangers = [
    undefined,
    await pair(await leafOf(other, uri), []),
    await pair(await leafOf(between, uri, new Date(now.getTime() - 2 * hour))),
    await pair(await leafOf(between, uriOf("evil.example", "cart-1"))),
  ];
  for (const stranger of strangers) expect(await ask(port, stranger)).toBe("refused");
});

const request = async (more: Partial<HandshakeRequest> = {}): Promise<HandshakeRequest> => ({
  host: "127.0.0.1",
  port: await start(),
  ca,
  credential: await pair(client),
  expect: { name: "127.0.0.1" },
  ...more,
});
const isNode = (node: string) => ({ identity: (id: SpiffeId) => id.role === "node" && id.node === node });
const soon = () => AbortSignal.timeout(3000);

test("a handshake tells which certificate is served", async () => {
  for (const expected of [{ name: "127.0.0.1" }, { name: "node-0" }, isNode("cart-0")]) {
    const result = await handshake(await request({ expect: expected }), soon());
    expect(result.ok ? thumbprint(result.certificate) : result.reason).toBe(thumbprint(server.certificate));
  }
});

test("a handshake refuses another name, another identity, another authority and silence, with the reason", async () => {
  const reason = async (more: Partial<HandshakeRequest>, signal = soon()) => {
    const result = await handshake(await request(more), signal);
    return result.ok ? "accepted" : result.reason;
  };
  expect(await reason({ expect: { name: "node-1" } })).toContain("node-1");
  expect(await reason({ expect: isNode("cart-7") })).toContain("it is another's certificate");
  expect(await reason({ ca: encodeCertificates([other.certificate]) })).toContain("certificate");
  expect(await reason({ port: 1 })).toContain("handshake with 127.0.0.1:1");
  const mute = createServer();
  open.push(mute);
  await new Promise<void>((resolve) => mute.listen(0, "127.0.0.1", () => resolve()));
  const address = mute.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  expect(await reason({ port }, AbortSignal.timeout(50))).toContain("no answer in time");
});
