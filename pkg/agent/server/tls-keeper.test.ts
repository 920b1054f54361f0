import { describe, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { VALKEY_VERSIONS } from "../../../test/lab/valkey.ts";
import { ControlledServer, wanted } from "../../../test/lib/controlled-server.ts";
import { type Identity, makeAuthority, makeLeaf, writeIdentity } from "../../../test/lib/pki.ts";

const soon = () => AbortSignal.timeout(8000);
const WIRE = { port: 1, tls: true, tlsAuthClients: "yes", tlsReplication: true, tlsCluster: true };

function secretsOf(leaf: Identity, ca: Identity, hash: string) {
  return {
    hash,
    tlsCertificate: Buffer.from(leaf.chainPem),
    tlsKey: Buffer.from(leaf.keyPem),
    tlsAuthorities: Buffer.from(ca.certPem),
  };
}

describe.each([...VALKEY_VERSIONS])("Valkey %s", (version) => {
  test("certificates change under open connections, proven by a handshake; bad ones change nothing", async () => {
    const dir = await mkdtemp(join(tmpdir(), "valkey-tls-"));
    await using cleanup = new AsyncDisposableStack();
    cleanup.defer(() => rm(dir, { recursive: true }));
    const ca = await makeAuthority({ name: "root" });
    const leaf = (name: string) =>
      makeLeaf({ name, issuer: ca, dns: ["*.cache-headless.shop.svc", "localhost"], ip: ["127.0.0.1"] });
    const [first, second, third] = await Promise.all([leaf("one"), leaf("two"), leaf("three")]);
    const files = await writeIdentity(dir, "start", first);
    await Bun.write(join(dir, "ca.crt"), ca.certPem);
    const credentials = { tls: { ca: ca.certPem, cert: first.chainPem, key: first.keyPem } };
    await using node = await ControlledServer.start({
      version,
      tls: { ca: join(dir, "ca.crt"), ...files },
      credentials,
    });
    const settings = [
      ["save", ""],
      ["repl-diskless-sync-delay", "0"],
      ["repl-ping-replica-period", "1"],
    ] as const;
    const give = (secrets: ReturnType<typeof secretsOf>) => node.control.apply(wanted(settings, secrets, WIRE), soon());
    const session = await node.server.connect();

    const applied = await give(secretsOf(second, ca, "two"));
    expect([applied.needsRestart, applied.refusals, applied.secretsHash]).toEqual([[], [], "two"]);
    expect(await session.call("PING")).toBe("PONG");
    const tlsDir = join(node.server.dir, "tls");
    expect(await Bun.file(join(tlsDir, "server.crt")).text()).toBe(second.chainPem);

    const mixed = { ...secretsOf(third, ca, "mixed"), tlsKey: Buffer.from(first.keyPem) };
    const bad = await give(mixed);
    expect(bad.refusals).toMatchObject([{ name: "tls" }]);
    expect(bad.secretsHash).toBe("two");
    expect(await Bun.file(join(tlsDir, "server.crt")).text()).toBe(second.chainPem);
    expect(JSON.stringify(bad.refusals)).not.toContain("PRIVATE");
    const garbage = await give({ ...secretsOf(third, ca, "garbage"), tlsCertificate: Buffer.from("nonsense") });
    expect(garbage.refusals).toMatchObject([{ name: "tls" }]);

    const stranger = await makeAuthority({ name: "another" });
    const untrusted = await give(secretsOf(third, stranger, "untrusted"));
    expect(untrusted.refusals[0]?.message).toContain("nobody we trust signed");
    expect(await Bun.file(join(tlsDir, "ca.crt")).text()).toBe(ca.certPem);

    expect((await give(secretsOf(third, ca, "three"))).refusals).toEqual([]);
    expect(await session.call("PING")).toBe("PONG");
    const want = wanted(settings, secretsOf(third, ca, "three"), WIRE);
    expect(await node.control.checkDrift(want, soon())).toEqual([]);
    await session.call("CONFIG", "SET", "tls-cert-file", files.cert, "tls-key-file", files.key);
    const drifts = await node.control.checkDrift(want, soon());
    expect(drifts.map(({ name, repaired }) => `${name} ${repaired}`)).toEqual([
      "tls-cert-file true",
      "tls-key-file true",
    ]);
    expect(await node.control.checkDrift(want, soon())).toEqual([]);
    session.close();
  });

  test("TLS where there was none, and none where there was TLS, need a restart", async () => {
    const ca = await makeAuthority({ name: "root" });
    const leaf = await makeLeaf({ name: "one", issuer: ca, dns: ["localhost"] });
    await using node = await ControlledServer.start({ version });
    const applied = await node.control.apply(wanted([["save", ""]], secretsOf(leaf, ca, "x"), WIRE), soon());
    expect(applied.needsRestart).toContain("tls");
  });
});
