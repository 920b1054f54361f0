/** What the agent relies on in Valkey itself, for each version that we serve. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { appendFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "node:tls";
import { run } from "../../scripts/lib.ts";
import { ensureValkey, VALKEY_VERSIONS } from "../lab/valkey.ts";
import { makeAuthority, makeLeaf, writeIdentity } from "../lib/pki.ts";
import { Program } from "../lib/program.ts";
import { until, within } from "../lib/until.ts";
import { ValkeyServer } from "../lib/valkey-server.ts";
import { compiledProbe } from "./compiled-probe.ts";

let probe: string;
let folder: string;
beforeAll(async () => {
  probe = await compiledProbe();
  folder = await mkdtemp(join(tmpdir(), "valkey-gate-"));
  for (const version of VALKEY_VERSIONS) await ensureValkey(version);
}, 300_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

describe.each([...VALKEY_VERSIONS])("Valkey %s", (version) => {
  test("waits at a FIFO that its configuration includes, until a compiled binary writes the rest into it", async () => {
    await using server = await ValkeyServer.prepare({ version });
    const fifo = join(server.dir, "gate");
    await run(["mkfifo", fifo]);
    await appendFile(join(server.dir, "valkey.conf"), `include ${fifo}\n`);
    server.spawn();
    // It hangs in the opening of the FIFO: not listening, not ended, nothing said.
    await until("the server waits at the FIFO", () => waitsForFifo(server.pid));
    expect(await refusesConnections(server)).toBe(true);
    expect(server.log).toBe("");
    const gate = await Program.run([probe, "gate", fifo, "maxmemory 123mb\n"]);
    expect(gate.code).toBe(0);
    await until("the server answers", async () => (await server.send("PING")) === "PONG");
    expect(await server.send("CONFIG", "GET", "maxmemory")).toEqual(["maxmemory", String(123 * 1024 * 1024)]);
  }, 30_000);

  test("takes a new certificate while it runs: new connections see it, old ones live on", async () => {
    const root = await makeAuthority({ name: "root" });
    const leaf = (name: string) => makeLeaf({ name, issuer: root, ip: ["127.0.0.1"] });
    const ca = join(folder, "ca.crt");
    await writeFile(ca, root.certPem);
    const first = await writeIdentity(folder, "first", await leaf("first"));
    const second = await writeIdentity(folder, "second", await leaf("second"));
    const client = await leaf("client");
    const tls = { ca: root.certPem, cert: client.certPem, key: client.keyPem };
    await using server = await ValkeyServer.start({ version, tls: { ca, ...first }, credentials: { tls } });
    const old = await server.connect();
    expect(await served(server, tls)).toBe("first");
    const change = ["tls-cert-file", second.cert, "tls-key-file", second.key];
    expect(await server.send("CONFIG", "SET", ...change)).toBe("OK");
    expect(await served(server, tls)).toBe("second");
    expect(await old.call("PING")).toBe("PONG");
    // A pair that does not fit is refused and changes nothing.
    const unfit = server.send("CONFIG", "SET", "tls-cert-file", first.cert, "tls-key-file", second.key);
    expect(await unfit.then(String, (error: Error) => error.message)).toContain("Unable to update TLS configuration");
    expect(await served(server, tls)).toBe("second");
    old.close();
  }, 30_000);

  test("is reached by iovalkey in a compiled binary with TLS and a user, and a failure has the server's reason", async () => {
    const root = await makeAuthority({ name: "root" });
    const ca = join(folder, "ca.crt");
    await writeFile(ca, root.certPem);
    const own = await writeIdentity(folder, "own", await makeLeaf({ name: "s", issuer: root, ip: ["127.0.0.1"] }));
    const client = await makeLeaf({ name: "client", issuer: root });
    await writeIdentity(folder, "client", client);
    const credentials = {
      tls: { ca: root.certPem, cert: client.certPem, key: client.keyPem },
      username: "app",
      password: "secret",
    };
    const acl = ["user default off", "user app on >secret ~* +@all"];
    await using server = await ValkeyServer.start({ version, tls: { ca, ...own }, acl, credentials });
    const port = String(server.address.port);
    const login = (password: string) => Program.run([probe, "iovalkey", folder, port, "app", password]);
    expect(await login("secret")).toMatchObject({ code: 0, out: '{"whoami":"app"}\n' });
    expect((await login("guess")).out).toContain('{"failed":"WRONGPASS');
    await writeIdentity(
      folder,
      "client",
      await makeLeaf({ name: "client", issuer: await makeAuthority({ name: "other" }) }),
    );
    expect((await login("secret")).out).toMatch(/"failed":".*UNKNOWN_CA/);
  }, 30_000);
});

/** Blocked in the opening of a FIFO; where the kernel does not tell that much, asleep as the server it is to become. */
async function waitsForFifo(pid: number): Promise<boolean> {
  const read = (name: string) => Bun.file(`/proc/${pid}/${name}`).text();
  const place = await read("wchan");
  if (place !== "0" && place !== "") return place.includes("wait_for_partner");
  return (await read("cmdline")).includes("valkey.conf") && (await read("status")).includes("S (sleeping)");
}

async function refusesConnections(server: ValkeyServer): Promise<boolean> {
  return server.connect().then(
    () => false,
    (error: Error) => error.message.includes("ECONNREFUSED"),
  );
}

/** The common name in the certificate that the server shows. */
function served(server: ValkeyServer, tls: { ca: string; cert: string; key: string }): Promise<string> {
  return within("a TLS handshake", 5000, async () => {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const socket = connect({ ...server.address, ...tls }, () =>
      resolve(String(socket.getPeerCertificate().subject.CN)),
    );
    socket.on("error", reject);
    const name = await promise;
    socket.destroy();
    return name;
  });
}
