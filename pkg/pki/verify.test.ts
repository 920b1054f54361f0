import { expect, test } from "bun:test";
import { createIntermediate, createRoot, issueLeaf } from "./issue.ts";
import { opensslVerify } from "./test-openssl.ts";
import { type VerifyRequest, verifyChain } from "./verify.ts";

const now = new Date("2026-05-06T07:08:09Z");
const day = 86_400_000;
const later = (days: number) => new Date(now.getTime() + days * day);
const life = { now, lifetimeMs: 365 * day };

const root = await createRoot({ name: "root", ...life, lifetimeMs: 3650 * day });
const twin = await createRoot({ name: "root", ...life, lifetimeMs: 3650 * day });
const between = await createIntermediate(root, { name: "between", ...life });
const deeper = await createIntermediate(between, { name: "deeper", ...life });
const bound = await createIntermediate(root, {
  name: "bound",
  ...life,
  constraints: {
    permitted: { dns: ["shop.svc"], uri: ["valkey.example"], ip: ["10.0.0.0/8"] },
    excluded: { dns: ["bad.shop.svc"] },
  },
});

const leaf = async (issuer: typeof root, names: { dns?: string[]; uri?: string[]; ip?: string[] }) =>
  (await issueLeaf(issuer, { name: "leaf", now, lifetimeMs: 90 * day, names })).certificate;
const plain = await leaf(between, { dns: ["a.shop.svc"] });
const serverOnly = await issueLeaf(between, { name: "leaf", ...life, names: { dns: ["a"] }, usages: ["server"] });
const spiffe = (domain: string) => `spiffe://${domain}/ns/shop/operator`;

const roots = [root.certificate];
const viaBetween = { intermediates: [between.certificate], roots, now };
const viaBound = { intermediates: [bound.certificate], roots, now };

interface Case extends VerifyRequest {
  readonly what: string;
  /** What OpenSSL says; "OK" if it is good. */
  readonly openssl: string;
  readonly ours?: string;
}

const cases: Case[] = [
  { what: "a good chain", leaf: plain, ...viaBetween, openssl: "OK" },
  { what: "a good chain for a client", leaf: plain, ...viaBetween, usage: "client", openssl: "OK" },
  { what: "a leaf straight below the root", leaf: await leaf(root, { dns: ["a"] }), roots, now, openssl: "OK" },
  {
    what: "two roots of one name",
    leaf: plain,
    ...viaBetween,
    roots: [twin.certificate, root.certificate],
    openssl: "OK",
  },
  { what: "a leaf at its end", leaf: plain, ...viaBetween, now: later(90), openssl: "error 10", ours: "expired" },
  {
    what: "a leaf a second before",
    leaf: plain,
    ...viaBetween,
    now: new Date(later(90).getTime() - 1000),
    openssl: "OK",
  },
  { what: "an expired leaf", leaf: plain, ...viaBetween, now: later(91), openssl: "error 10", ours: "expired" },
  { what: "a leaf of the future", leaf: plain, ...viaBetween, now: later(-1), openssl: "error 9", ours: "only from" },
  {
    what: "another root",
    leaf: plain,
    ...viaBetween,
    roots: [twin.certificate],
    openssl: "error",
    ours: "nobody we trust",
  },
  { what: "a missing intermediate", leaf: plain, roots, now, openssl: "error 20", ours: "nobody we trust" },
  {
    what: "a server's certificate used by a client",
    leaf: serverOnly.certificate,
    ...viaBetween,
    usage: "client",
    openssl: "error 26",
    ours: "not made for use as a client",
  },
  {
    what: "an intermediate below one that may have none",
    leaf: await leaf(deeper, { dns: ["a"] }),
    intermediates: [deeper.certificate, between.certificate],
    roots,
    now,
    openssl: "error 25",
    ours: "may have 0 authorities below it",
  },
  {
    what: "a leaf that signs",
    leaf: await leaf({ certificate: plain, keys: between.keys }, { dns: ["a"] }),
    intermediates: [plain, between.certificate],
    roots,
    now,
    openssl: "error",
    ours: "nobody we trust",
  },
];

const constrained: [string, { dns?: string[]; uri?: string[]; ip?: string[] }, string][] = [
  ["all within", { dns: ["shop.svc", "a.shop.svc"], uri: [spiffe("valkey.example")], ip: ["10.9.9.9"] }, "OK"],
  ["another trust domain", { uri: [spiffe("other.example")] }, "error 47"],
  ["a trust domain below ours", { uri: [spiffe("x.valkey.example")] }, "error 47"],
  ["a host that only ends like ours", { dns: ["myshop.svc"] }, "error 47"],
  ["another namespace's host", { dns: ["a.other.svc"] }, "error 47"],
  ["an excluded host", { dns: ["a.bad.shop.svc"] }, "error 48"],
  ["an address of another network", { ip: ["192.168.0.1"] }, "error 47"],
  ["one good and one bad name", { dns: ["a.shop.svc", "evil.example"] }, "error 47"],
];
for (const [what, names, openssl] of constrained) {
  const bad = openssl === "OK" ? {} : { ours: "does not permit" };
  cases.push({ what: `name constraints: ${what}`, leaf: await leaf(bound, names), ...viaBound, openssl, ...bad });
}

for (const { what, openssl, ours, ...request } of cases) {
  test(`${what}: OpenSSL and we agree`, async () => {
    const [theirs, verdict] = await Promise.all([opensslVerify(request), verifyChain(request)]);
    expect(theirs).toContain(openssl);
    if (openssl === "OK") expect(theirs).toBe("OK");
    expect(verdict.ok ? "OK" : verdict.reason).toContain(ours ?? "OK");
  });
}
