import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { createIntermediate, createRoot, issueLeaf } from "./issue.ts";
import { decodeCertificate, decodeKeys, encodeCertificates, encodeKey, keyFits, thumbprint } from "./pem.ts";
import { alternativeNames } from "./san.ts";
import { opensslText } from "./test-openssl.ts";
import { verifyChain } from "./verify.ts";

const now = new Date("2026-05-06T07:08:09.123Z");
const day = 86_400_000;
const root = await createRoot({ name: "root", now, lifetimeMs: 3650 * day });
const uri = "spiffe://valkey.example/ns/shop/valkeycluster/cart/node/cart-0";

async function failureOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(() => "no failure", String);
}

test("openssl reads in the certificates what was asked for", async () => {
  const between = await createIntermediate(root, {
    name: "cart mtls",
    now,
    lifetimeMs: 365 * day,
    constraints: {
      permitted: { dns: ["svc.cluster.local"], uri: ["valkey.example"] },
      excluded: { ip: ["0.0.0.0/0"] },
    },
  });
  const leaf = await issueLeaf(between, {
    name: "cart-0",
    now,
    lifetimeMs: 90 * day,
    names: { dns: ["cart-0.cart.shop.svc.cluster.local"], ip: ["10.1.2.3", "fd00::1"], uri: [uri] },
  });
  const [rootText = "", betweenText = "", leafText = ""] = await Promise.all(
    [root, between, leaf].map(({ certificate }) => opensslText(certificate, "-fingerprint", "-sha256")),
  );
  expect(rootText).toMatch(/X509v3 Basic Constraints: critical\s+CA:TRUE, pathlen:1/);
  expect(betweenText).toMatch(/X509v3 Basic Constraints: critical\s+CA:TRUE, pathlen:0/);
  expect(betweenText).toMatch(/X509v3 Key Usage: critical\s+Certificate Sign, CRL Sign/);
  expect(betweenText).toMatch(
    /X509v3 Name Constraints: critical\s+Permitted:\s+DNS:svc.cluster.local\s+URI:valkey.example/,
  );
  expect(leafText).toMatch(/X509v3 Basic Constraints: critical\s+CA:FALSE/);
  expect(leafText).toMatch(/X509v3 Extended Key Usage:\s+TLS Web Server Authentication, TLS Web Client Authentication/);
  expect(leafText).toContain(
    `DNS:cart-0.cart.shop.svc.cluster.local, IP Address:10.1.2.3, IP Address:FD00:0:0:0:0:0:0:1, URI:${uri}`,
  );
  expect(leafText).toContain("ASN1 OID: prime256v1");
  expect(leafText).toContain("Signature Algorithm: ecdsa-with-SHA256");
  expect(leafText).toContain("Not Before: May  6 07:03:09 2026 GMT");
  expect(leafText).toContain("Not After : Aug  4 07:08:09 2026 GMT");
  expect(leafText.replaceAll(":", "").toLowerCase()).toContain(`sha256 fingerprint=${thumbprint(leaf.certificate)}`);
  expect(alternativeNames(leaf.certificate).uri).toEqual([uri]);
});

test("serial numbers are positive, 16 bytes and never the same", async () => {
  const names = { dns: ["a"] };
  const leaves = await Promise.all(
    Array.from({ length: 20 }, () => issueLeaf(root, { name: "a", now, lifetimeMs: day, names })),
  );
  const serials = leaves.map(({ certificate }) => certificate.serialNumber);
  expect(new Set(serials).size).toBe(20);
  for (const serial of serials) expect(serial).toMatch(/^[4-7][0-9a-f]{31}$/);
  expect(await opensslText(leaves[0]?.certificate ?? root.certificate)).not.toContain("Negative");
});

test("a short life is backdated by a tenth, so that it is not over before it began", async () => {
  const { certificate } = await issueLeaf(root, { name: "a", now, lifetimeMs: 120_000, names: { dns: ["a"] } });
  expect(certificate.notBefore).toEqual(new Date("2026-05-06T07:07:57Z"));
  expect(certificate.notAfter).toEqual(new Date("2026-05-06T07:10:09Z"));
});

test("a leaf never outlives its issuer, and an expired issuer signs nothing", async () => {
  const short = await createRoot({ name: "short", now, lifetimeMs: day });
  const leaf = await issueLeaf(short, { name: "a", now, lifetimeMs: 90 * day, names: { dns: ["a"] } });
  expect(leaf.certificate.notAfter).toEqual(short.certificate.notAfter);
  const later = new Date(now.getTime() + 2 * day);
  const late = issueLeaf(short, { name: "a", now: later, lifetimeMs: day, names: { dns: ["a"] } });
  expect(await failureOf(late)).toContain("rotate it first");
  const before = new Date(now.getTime() - 2 * day);
  const early = issueLeaf(short, { name: "a", now: before, lifetimeMs: day, names: { dns: ["a"] } });
  expect(await failureOf(early)).toContain("check clocks");
});

test("names that a certificate cannot hold are refused", async () => {
  const issue = (names: { dns?: string[]; ip?: string[] }) =>
    issueLeaf(root, { name: "a", now, lifetimeMs: day, names });
  expect(await failureOf(issue({}))).toContain("at least one");
  expect(await failureOf(issue({ dns: ["bücher.example"] }))).toContain("cannot be a name");
  expect(await failureOf(issue({ dns: ["a, URI:spiffe://x"] }))).toContain("cannot be a name");
  expect(await failureOf(issue({ ip: ["10.0.0.300"] }))).toContain("no IP address");
});

test("no text in a name becomes a second part of the name", async () => {
  const names = {
    "a, O=system:masters": "a_ O_system:masters",
    "CN=x+O=y": "CN_x_O_y",
    "#0c0141 \\": "_0c0141 _",
    ü: "_",
  };
  for (const [name, CN] of Object.entries(names)) {
    const { certificate } = await issueLeaf(root, { name, now, lifetimeMs: day, names: { dns: ["a"] } });
    expect(certificate.subjectName.toJSON()).toEqual([{ CN: [CN] }]);
    expect(await opensslText(certificate)).toContain(`Subject: CN = ${CN}\n`);
  }
});

test("keys and certificates survive PEM, and a key knows its certificate", async () => {
  const keys = await decodeKeys(await encodeKey(root.keys.privateKey), "root key");
  const certificate = decodeCertificate(encodeCertificates([root.certificate]), "root");
  expect(await keyFits(certificate, keys)).toBe(true);
  const leaf = await issueLeaf({ certificate, keys }, { name: "a", now, lifetimeMs: day, names: { dns: ["a"] } });
  expect((await verifyChain({ leaf: leaf.certificate, roots: [root.certificate], now })).ok).toBe(true);
  expect(await keyFits(leaf.certificate, keys)).toBe(false);
});

test("PEM that is not what it should be is refused without quoting it", async () => {
  const key = await encodeKey(root.keys.privateKey);
  const certificate = encodeCertificates([root.certificate]);
  expect(() => decodeCertificate("", "ca.crt")).toThrow("ca.crt holds no PEM block");
  expect(() => decodeCertificate(certificate + key, "ca.crt")).toThrow("ca.crt holds a PRIVATE KEY where only");
  expect(() => decodeCertificate(certificate.repeat(2), "ca.crt")).toThrow("must hold one certificate, not 2");
  expect(await failureOf(decodeKeys(certificate, "ca.key"))).toContain("ca.key must hold one PKCS8 key");
  const broken = key.replace(/[A-Za-z]{8}\n/, "AAAAAAAA\n");
  await decodeKeys(broken, "ca.key").catch((error: Error) => expect(error.message).not.toContain("AAAAAAAA"));
});

test("no text makes the PEM reader fail otherwise than with its own error", () => {
  const pem = encodeCertificates([root.certificate]);
  const cut = fc.tuple(fc.nat(pem.length), fc.nat(20)).map(([at, length]) => pem.slice(0, at) + pem.slice(at + length));
  fc.assert(
    fc.property(fc.oneof(fc.string(), cut), (text) => {
      try {
        decodeCertificate(text, "x");
      } catch (error) {
        expect(error).toHaveProperty("name", "PkiError");
      }
    }),
  );
});
