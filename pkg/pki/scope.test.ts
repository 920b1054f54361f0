import { expect, test } from "bun:test";
import { createIntermediate, createRoot, issueLeaf } from "./issue.ts";
import { peerIdentity } from "./peer.ts";
import { verifyChain } from "./verify.ts";

const now = new Date("2026-01-02T03:04:05Z");
const life = { now, lifetimeMs: 86_400_000 };
const root = await createRoot({ name: "root", ...life });
const scope = "spiffe://valkey.local/ns/shop/valkeycluster/cart";
const cart = await createIntermediate(root, { name: "cart", scope, ...life });

async function judged(uri: string) {
  const leaf = await issueLeaf(cart, { name: "leaf", names: { uri: [uri] }, ...life });
  const request = { leaf: leaf.certificate, intermediates: [cart.certificate], roots: [root.certificate], now };
  const chain = await verifyChain(request);
  const peer = peerIdentity(leaf.certificate.rawData, cart.certificate.rawData);
  expect(peer.ok).toBe(chain.ok);
  return chain;
}

test("an intermediate speaks for the nodes of its deployment", async () => {
  expect(await judged(`${scope}/node/cart-0-0`)).toMatchObject({ ok: true });
});

test("it speaks neither for another deployment, nor for one whose name begins alike, nor for the operator", async () => {
  const others = [
    "spiffe://valkey.local/ns/shop/valkeycluster/cart2/node/cart-0-0",
    "spiffe://valkey.local/ns/shop2/valkeycluster/cart/node/cart-0-0",
    "spiffe://valkey.local/ns/valkey-operator-system/operator",
  ];
  for (const uri of others) {
    const verdict = await judged(uri);
    expect(verdict.ok).toBe(false);
    expect(verdict.ok ? "" : verdict.reason).toContain("may not speak for");
  }
});

test("an authority that names nobody is held to its name constraints alone", async () => {
  const plain = await createIntermediate(root, { name: "plain", ...life });
  const leaf = await issueLeaf(plain, { name: "leaf", names: { uri: [`${scope}/node/a`] }, ...life });
  expect(peerIdentity(leaf.certificate.rawData, plain.certificate.rawData).ok).toBe(true);
});
