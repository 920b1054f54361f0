/** The calling side: it trusts only the server it means, and outlives servers that die, freeze or change. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Identity, type LeafOptions, makeAuthority, makeLeaf, writeIdentity } from "../lib/pki.ts";
import { Program } from "../lib/program.ts";
import { compiledProbe } from "./compiled-probe.ts";

const URI = "spiffe://db.example";
const GOOD: Omit<LeafOptions, "issuer"> = { name: "server", ip: ["127.0.0.1"], uri: [`${URI}/server`] };
let folder: string;
let probe: string;
let root: Identity;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "rpc-client-"));
  probe = await compiledProbe();
  root = await makeAuthority({ name: "root" });
  await writeFile(join(folder, "ca.crt"), root.certPem);
  await writeIdentity(folder, "server", await makeLeaf({ ...GOOD, issuer: root }));
  for (const name of ["first", "second"]) {
    await writeIdentity(folder, name, await makeLeaf({ name, issuer: root, uri: [`${URI}/${name}/operator`] }));
  }
}, 120_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

describe("a server is refused, and never hears the call,", () => {
  const cases: [string, () => Promise<LeafOptions>, string?][] = [
    ["when its certificate is for another address", async () => ({ ...GOOD, ip: ["127.0.0.2"], issuer: root })],
    ["when its certificate has expired", async () => ({ ...GOOD, hours: -1, issuer: root })],
    ["when it is of another authority", async () => ({ ...GOOD, issuer: await makeAuthority({ name: "other" }) })],
    ["when its certificate is for clients only", async () => ({ ...GOOD, usage: ["client"], issuer: root })],
    ["when it has another URI than expected", async () => ({ ...GOOD, issuer: root }), `${URI}/another`],
  ];
  for (const [what, leaf, expected] of cases) {
    test.each(["2", "1.1"])(`${what} (HTTP/%s)`, async (http) => {
      const own = await mkdtemp(join(folder, "server-"));
      await writeFile(join(own, "ca.crt"), root.certPem);
      await writeIdentity(own, "server", await makeLeaf(await leaf()));
      await using server = new Program([probe, "rpc-server", own]);
      const port = String(await server.message("port"));
      const uri = expected === undefined ? [] : [expected];
      const { out } = await Program.run([probe, "rpc-client", folder, "first", port, http, ...uri]);
      expect(JSON.parse(out.split("\n")[0] ?? "")).not.toHaveProperty("unary.seenAs");
      expect(server.messages.filter((message) => "request" in message)).toEqual([]);
    });
  }
});

test("a server known by its URI is trusted at whatever address it is dialled", async () => {
  const own = await mkdtemp(join(folder, "server-"));
  await writeFile(join(own, "ca.crt"), root.certPem);
  await writeIdentity(own, "server", await makeLeaf({ ...GOOD, ip: [], issuer: root }));
  await using server = new Program([probe, "rpc-server", own]);
  const port = String(await server.message("port"));
  const { out } = await Program.run([probe, "rpc-client", folder, "first", port, "2", `${URI}/server`]);
  expect(out).toContain(`"seenAs":"${URI}/first/operator"`);
});

test("a new identity is used by the next call while a stream under the old one goes on to its end", async () => {
  await using server = new Program([probe, "rpc-server", folder]);
  await using client = new Program([probe, "rpc-session", folder, String(await server.message("port"))]);
  await client.message("ready");
  client.say("stream");
  await client.message("streaming");
  client.say("rotate");
  client.say("call");
  expect(await client.message("called")).toBe(`${URI}/second/operator`);
  expect(await client.message("streamed")).toBe(25);
});

test("a dead server fails a call at once, and a restarted one is reached by the next call", async () => {
  const server = new Program([probe, "rpc-server", folder]);
  const port = String(await server.message("port"));
  await using client = new Program([probe, "rpc-session", folder, port]);
  const call = async () => {
    const before = client.messages.length;
    client.say("call");
    return client.message("called", before);
  };
  await client.message("ready");
  expect(await call()).toBe(`${URI}/first/operator`);
  await server[Symbol.asyncDispose]();
  // A call that meets the session in its last moment is canceled instead.
  expect(["Unavailable", "Canceled"]).toContain(String(await call()));
  await using _again = await restarted(port);
  expect(await call()).toBe(`${URI}/first/operator`);
});

test("a frozen server is noticed by unanswered pings, long before the call's deadline, and serves again when thawed", async () => {
  await using server = new Program([probe, "rpc-server", folder]);
  await using client = new Program([probe, "rpc-session", folder, String(await server.message("port"))]);
  await client.message("ready");
  client.say("stream");
  await client.message("streaming");
  server.signal("SIGSTOP");
  expect(await client.message("streamed")).toBe("Unavailable");
  server.signal("SIGCONT");
  client.say("call");
  expect(await client.message("called")).toBe(`${URI}/first/operator`);
});

async function restarted(port: string): Promise<Program> {
  const server = new Program([probe, "rpc-server", folder, port]);
  await server.message("port");
  return server;
}
