/** Asking a real TLS server that changes its certificate and its trust while it runs. */
import { afterAll, expect, test } from "bun:test";
import { createSecureServer } from "node:http2";
import type { ValkeyNode } from "../../api/node.ts";
import {
  type Credential,
  createIntermediate,
  createRoot,
  encodeCertificates,
  encodeKey,
  issueLeaf,
  thumbprint,
} from "../../pki/pki.ts";
import { mtlsIntermediate, nodeWish, operatorWish, type Subject } from "../../plan/certificates/requests.ts";
import { type ProbeCredential, probeAgent } from "./agent-probe.ts";

const HOUR_MS = 3_600_000;
const now = new Date();
const life = { now, lifetimeMs: HOUR_MS };
const CART = { role: "deployment", namespace: "shop", kind: "valkeycluster", name: "cart" } as const;
const OPERATOR: Subject = { role: "operator", namespace: "ops" };

const old = await createRoot({ name: "root", ...life });
const fresh = await createRoot({ name: "root", ...life });
const pem = (...all: readonly Credential[]) => encodeCertificates(all.map(({ certificate }) => certificate));

async function under(root: Credential, subject: Subject): Promise<Credential> {
  const { scope = "", ...wish } = mtlsIntermediate(subject);
  return createIntermediate(root, { ...wish, scope, ...life });
}

async function identityOf(leaf: Credential, issuer: Credential): Promise<ProbeCredential> {
  return { cert: pem(leaf, issuer), key: await encodeKey(leaf.keys.privateKey) };
}

async function nodeUnder(root: Credential, name = "cart-0-0") {
  const issuer = await under(root, CART);
  const leaf = await issueLeaf(issuer, { ...nodeWish(CART, name, HOUR_MS), now });
  return { shows: thumbprint(leaf.certificate), ...(await identityOf(leaf, issuer)) };
}

async function operatorUnder(root: Credential): Promise<ProbeCredential> {
  const issuer = await under(root, OPERATOR);
  return identityOf(await issueLeaf(issuer, { ...operatorWish("ops", HOUR_MS), now }), issuer);
}

const roots = { old: thumbprint(old.certificate), fresh: thumbprint(fresh.certificate) };
const credentials = new Map([
  [roots.old, await operatorUnder(old)],
  [roots.fresh, await operatorUnder(fresh)],
]);
const first = await nodeUnder(old);
const server = createSecureServer({
  cert: first.cert,
  key: first.key,
  ca: pem(old),
  requestCert: true,
  rejectUnauthorized: true,
  minVersion: "TLSv1.3",
  allowHTTP1: true,
});
server.on("tlsClientError", () => {});
const port = await new Promise<number>((resolve) => {
  server.listen(0, "127.0.0.1", () => {
    const address = server.address();
    resolve(typeof address === "object" && address !== null ? address.port : 0);
  });
});
afterAll(() => void server.close());

const node: ValkeyNode = {
  apiVersion: "valkey.io/v1alpha1",
  kind: "ValkeyNode",
  metadata: { name: "cart-0-0", namespace: "shop" },
  spec: {
    parent: { kind: "ValkeyCluster", name: "cart" },
    shard: 0,
    member: 0,
    podManagementType: "statefulset",
    suspended: false,
    podRevision: "r",
    podTemplate: { spec: { containers: [] } },
  },
  status: { pod: { name: "cart-0-0-0", uid: "u", ip: "127.0.0.1" } },
};

async function look(authorities: string, of: ValkeyNode = node) {
  return probeAgent({ node: of, authorities, credentials, port }, AbortSignal.timeout(5000));
}

test("an agent shows its certificate, and accepts the operator under the roots that it trusts", async () => {
  expect(await look(pem(old, fresh))).toEqual({ shows: first.shows, accepts: [roots.old] });
});

test("what it takes over is seen at once: more trust, then another certificate, then less trust", async () => {
  const change = (identity: ProbeCredential, ca: string) => server.setSecureContext({ ...identity, ca });
  change(first, pem(old, fresh));
  expect(await look(pem(old, fresh))).toEqual({ shows: first.shows, accepts: [roots.old, roots.fresh] });
  const second = await nodeUnder(fresh);
  change(second, pem(old, fresh));
  expect(await look(pem(old, fresh))).toEqual({ shows: second.shows, accepts: [roots.old, roots.fresh] });
  change(second, pem(fresh));
  expect(await look(pem(old, fresh))).toEqual({ shows: second.shows, accepts: [roots.fresh] });
});

test("another one's certificate at its address counts for nothing, and neither does one that nobody trusts", async () => {
  const other = { ...node, metadata: { ...node.metadata, name: "cart-0-1" } };
  expect(await look(pem(old, fresh), other)).toEqual({ shows: undefined, accepts: [] });
  expect(await look(pem(old))).toEqual({ shows: undefined, accepts: [] });
});

test("who is not there shows nothing", async () => {
  const gone = { ...node, status: { pod: { name: "p", uid: "u", ip: "127.0.0.1" } } };
  const request = { node: gone, authorities: pem(old), credentials, port: 1 };
  expect(await probeAgent(request, AbortSignal.timeout(5000))).toEqual({ shows: undefined, accepts: [] });
});
