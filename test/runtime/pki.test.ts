/** Certificates made in a compiled binary mean to OpenSSL, and so to Valkey, what they mean to us. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Program } from "../lib/program.ts";
import { compiledProbe } from "./compiled-probe.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "pki-"));
  expect(await Program.run([await compiledProbe(), "pki", folder])).toMatchObject({ code: 0 });
}, 120_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

async function verify(leaf: string): Promise<{ code: number | null; err: string; out: string }> {
  const files = ["-CAfile", "ca.crt", "-untrusted", "issuer.crt", `${leaf}.crt`];
  return Program.run(["openssl", "verify", "-x509_strict", "-purpose", "sslclient", ...files], { cwd: folder });
}

test("a leaf of the constrained issuer is good", async () => {
  expect(await verify("good")).toMatchObject({ code: 0, out: "good.crt: OK\n" });
});

test.each([
  ["expired", "error 10"],
  ["other-name", "error 47"],
  ["other-uri", "error 47"],
  ["other-root", "error 20"],
])("the leaf %s is refused with %s", async (leaf, error) => {
  const { code, err } = await verify(leaf);
  expect(code).not.toBe(0);
  expect(err).toContain(error);
});
