import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { viewOf } from "./certificate-view.ts";
import { createIntermediate, createRoot, issueLeaf } from "./issue.ts";
import { generateKeys } from "./pem.ts";
import { PkiError } from "./pki-error.ts";
import {
  BasicConstraintsExtension,
  type JsonGeneralNames,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from "./x509.ts";

const keys = await generateKeys();

/** Anything that a generator will write down. */
async function made(names: JsonGeneralNames, until: Date, authority: boolean) {
  return X509CertificateGenerator.createSelfSigned({
    name: "CN=x",
    keys,
    notBefore: new Date(0),
    notAfter: until,
    extensions: [
      new BasicConstraintsExtension(authority, undefined, true),
      ...(names.length === 0 ? [] : [new SubjectAlternativeNameExtension(names)]),
    ],
  });
}

const ascii = fc.string({ unit: "binary-ascii", maxLength: 300 });
const name = fc.oneof(
  fc.record({ type: fc.constantFrom("dns" as const, "url" as const, "email" as const), value: ascii }),
  fc.record({ type: fc.constant("ip" as const), value: fc.ipV4() }),
);
/** On both sides of 2050, from which on times are written in another way. */
const time = fc.date({ min: new Date("1970-01-02"), max: new Date("2080-01-01"), noInvalidDate: true });

test("names, time and authority are what the library reads in the same certificate", async () => {
  const any = fc.asyncProperty(
    fc.array(name, { maxLength: 6 }),
    time,
    fc.boolean(),
    async (names, until, authority) => {
      const certificate = await made(names, until, authority);
      const extension = certificate.getExtension(SubjectAlternativeNameExtension);
      const all = extension?.names.items ?? [];
      const of = (type: string) => all.filter((item) => item.type === type).map(({ value }) => value);
      const view = viewOf(new Uint8Array(certificate.rawData));
      expect(view.names.dns).toEqual(of("dns"));
      expect(view.names.uri).toEqual(of("url"));
      expect(view.names.ip).toEqual(of("ip"));
      expect(view.notAfter).toEqual(certificate.notAfter);
      expect(view.isAuthority).toBe(authority);
    },
  );
  await fc.assert(any, { numRuns: 60 });
}, 20_000);

test("addresses are written as people write them", async () => {
  const ips = ["10.0.0.255", "::1", "2001:db8::ff00:42:8329", "::"];
  const certificate = await made(
    ips.map((value) => ({ type: "ip" as const, value })),
    new Date(),
    false,
  );
  expect(viewOf(new Uint8Array(certificate.rawData)).names.ip).toEqual(ips);
});

test("our own are read", async () => {
  const now = new Date();
  const root = await createRoot({ name: "root", now, lifetimeMs: 86_400_000 });
  const between = await createIntermediate(root, { name: "shop", now, lifetimeMs: 80_000_000 });
  const leaf = await issueLeaf(between, { name: "x", now, lifetimeMs: 60_000, names: { dns: ["a"], ip: ["::1"] } });
  const read = [root, between, leaf].map(({ certificate }) => viewOf(new Uint8Array(certificate.rawData)));
  expect(read.map(({ isAuthority }) => isAuthority)).toEqual([true, true, false]);
  expect(read[2]?.names).toEqual({ dns: ["a"], ip: ["::1"], uri: [] });
});

test("damaged ones are refused with our own error, or read", async () => {
  const der = new Uint8Array(
    (await made([{ type: "url", value: "spiffe://a/ns/b/operator" }], new Date(), false)).rawData,
  );
  const damaged = fc
    .tuple(fc.nat(der.length - 1), fc.nat(255))
    .map(([at, value]) => der.map((byte, index) => (index === at ? value : byte)));
  const cut = fc.nat(der.length - 1).map((length) => der.slice(0, length));
  fc.assert(
    fc.property(fc.oneof(damaged, cut, fc.uint8Array({ maxLength: 300 })), (bytes) => {
      try {
        viewOf(bytes);
      } catch (error) {
        expect(error).toBeInstanceOf(PkiError);
      }
    }),
  );
});
