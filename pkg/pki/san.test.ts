import { expect, test } from "bun:test";
import { X509Certificate as NodeCertificate } from "node:crypto";
import * as fc from "fast-check";
import { createRoot, issueLeaf } from "./issue.ts";
import { peerIdentity } from "./peer.ts";
import { generateKeys } from "./pem.ts";
import {
  type Extension,
  type JsonGeneralNames,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from "./x509.ts";

const now = new Date();
const good = "spiffe://valkey.example/ns/shop/operator";
const root = await createRoot({ name: "root", now, lifetimeMs: 86_400_000 });

/** As an attacker would make it: nothing checks the names. */
async function forged(extensions: Extension[]): Promise<ArrayBuffer> {
  const keys = await generateKeys();
  return (await X509CertificateGenerator.createSelfSigned({ name: [{ CN: ["x"] }], keys, extensions })).rawData;
}
const named = (...names: JsonGeneralNames) => forged([new SubjectAlternativeNameExtension(names)]);

test("the identity is the one URI", async () => {
  const leaf = await issueLeaf(root, { name: "x", now, lifetimeMs: 60_000, names: { dns: ["a"], uri: [good] } });
  expect(peerIdentity(leaf.certificate.rawData)).toEqual({
    ok: true,
    id: { role: "operator", trustDomain: "valkey.example", namespace: "shop" },
  });
});

test("a DNS name that looks like a URI in the text form is no identity", async () => {
  const der = await named({ type: "dns", value: `a.example, URI:${good}` });
  // The trap that this guards against, seen to be real (some runtimes quote such names, none may be relied on).
  expect(new NodeCertificate(Buffer.from(der)).subjectAltName).toContain(`URI:${good}`);
  const identity = peerIdentity(der);
  expect(identity).toEqual({ ok: false, reason: "the peer's certificate holds 0 URIs, it must hold exactly one" });
});

test("hostile alternatives are refused", async () => {
  const hostile = [
    await named({ type: "url", value: good }, { type: "url", value: "spiffe://other/ns/a/operator" }),
    await named({ type: "url", value: `${good}, URI:spiffe://other/ns/a/operator` }),
    await named({ type: "url", value: `${good}\0.evil.example` }),
    await named({ type: "url", value: "" }),
    await named({ type: "email", value: good }),
    await forged([]),
    await forged([
      new SubjectAlternativeNameExtension([{ type: "url", value: good }]),
      new SubjectAlternativeNameExtension([{ type: "dns", value: "a" }]),
    ]),
    root.certificate.rawData,
  ];
  for (const der of hostile) expect(peerIdentity(der).ok).toBe(false);
});

test("garbage and damaged certificates never throw", async () => {
  const der = new Uint8Array(await named({ type: "url", value: good }));
  const damaged = fc
    .tuple(fc.nat(der.length - 1), fc.nat(255))
    .map(([at, value]) => der.map((byte, index) => (index === at ? value : byte)));
  fc.assert(
    fc.property(fc.oneof(damaged, fc.uint8Array({ maxLength: 300 })), (bytes) => {
      const copy = new Uint8Array(bytes);
      expect(typeof peerIdentity(copy).ok).toBe("boolean");
    }),
  );
});
