/** Sockets of a compiled binary: unix sockets, plain HTTP for probes, HTTPS with client certificates. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createSecureServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { command, ensureValkey, VALKEY_VERSIONS } from "../lab/valkey.ts";
import { makeAuthority, makeLeaf, writeIdentity } from "../lib/pki.ts";
import { Program } from "../lib/program.ts";
import { compiledProbe } from "./compiled-probe.ts";

let folder: string;
let probe: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sockets-"));
  probe = await compiledProbe();
  for (const version of VALKEY_VERSIONS) await ensureValkey(version);
}, 300_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

test("a unix socket carries both ways, and the death of the peer is seen at once", async () => {
  const path = join(folder, "peer.sock");
  await using server = new Program([probe, "unix-server", path]);
  await server.message("listening");
  await using client = new Program([probe, "unix-client", path]);
  expect(await client.message("greeting")).toBe("hello");
  expect(await server.message("heard")).toBe("good day");
  const killed = Date.now();
  server.signal("SIGKILL");
  // Milliseconds on a quiet machine; what matters is that no timeout has to pass.
  expect(Number(await client.message("closed")) - killed).toBeLessThan(500);
});

test.each([...VALKEY_VERSIONS])("valkey-cli %s talks to a server of ours over a unix socket", async (version) => {
  const path = join(folder, `resp-${version}.sock`);
  await using server = new Program([probe, "resp-server", path]);
  await server.message("listening");
  const { root } = await ensureValkey(version);
  const cli = (...args: string[]) => Program.run([...command(root, "valkey-cli"), "-s", path, ...args]);
  expect(await cli("ping")).toMatchObject({ code: 0, out: "PONG\n" });
  expect(await cli("echo", "two words")).toMatchObject({ code: 0, out: "two words\n" });
  expect(await cli("-e", "nonsense")).toMatchObject({ code: 1, err: "ERR unknown command 'nonsense'\n" });
});

test("the health server answers over HTTP and closes on SIGTERM", async () => {
  await using server = new Program([probe, "health"]);
  const base = `http://127.0.0.1:${String(await server.message("port"))}`;
  expect(await (await fetch(`${base}/healthz`)).text()).toBe("ok");
  expect(await (await fetch(`${base}/metrics`)).text()).toBe("up 1\n");
  expect((await fetch(`${base}/other`)).status).toBe(404);
  server.signal("SIGTERM");
  expect(await server.ending()).toMatchObject({ code: 0 });
});

test("node:https with a client certificate keeps one connection for many requests", async () => {
  const root = await makeAuthority({ name: "root" });
  const own = await makeLeaf({ name: "server", issuer: root, ip: ["127.0.0.1"] });
  await writeFile(join(folder, "ca.crt"), root.certPem);
  await writeIdentity(folder, "client", await makeLeaf({ name: "client", issuer: root, dns: ["client.example"] }));
  const tls = { cert: own.chainPem, key: own.keyPem, ca: root.certPem, requestCert: true, allowHTTP1: true };
  let connections = 0;
  const server = createSecureServer(tls, (request, response) => {
    const socket = request.socket;
    const caller = "getPeerCertificate" in socket ? socket.getPeerCertificate().subjectaltname : undefined;
    response.end(caller ?? "nobody");
  });
  server.on("secureConnection", () => connections++);
  const { promise: listening, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await listening;
  try {
    const port = String((server.address() as AddressInfo).port);
    const { out, code } = await Program.run([probe, "https", folder, "client", port, "10"]);
    expect({ code, out }).toEqual({ code: 0, out: `{"body":"DNS:client.example"}\n`.repeat(10) });
    expect(connections).toBe(1);
  } finally {
    server.close();
  }
});
