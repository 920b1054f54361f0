import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { formatSpiffeId, type NodeIdentity, parseSpiffeId, type SpiffeId, sameDeployment } from "./spiffe.ts";

const node: NodeIdentity = {
  role: "node",
  trustDomain: "valkey.example",
  namespace: "shop",
  kind: "valkeycluster",
  name: "cart",
  node: "cart-0-1",
};

test("a node's and an operator's identity read as documented", () => {
  expect(formatSpiffeId(node)).toBe("spiffe://valkey.example/ns/shop/valkeycluster/cart/node/cart-0-1");
  expect(formatSpiffeId({ role: "operator", trustDomain: "valkey.example", namespace: "valkey-system" })).toBe(
    "spiffe://valkey.example/ns/valkey-system/operator",
  );
});

test.each([
  "",
  "spiffe://",
  "https://valkey.example/ns/shop/operator",
  "SPIFFE://valkey.example/ns/shop/operator",
  "spiffe:///ns/shop/operator",
  "spiffe://valkey.example/ns//operator",
  "spiffe://valkey.example/ns/shop/operator/",
  "spiffe://valkey.example/ns/shop/operator?x=1",
  "spiffe://valkey.example/ns/shop/operator#x",
  "spiffe://user@valkey.example/ns/shop/operator",
  "spiffe://valkey.example:1/ns/shop/operator",
  "spiffe://VALKEY.example/ns/shop/operator",
  "spiffe://valkey.example/ns/%73hop/operator",
  "spiffe://valkey.example/ns/shop/valkeycluster/cart/node/..",
  "spiffe://valkey.example/ns/shop/valkeycluster/../node/a",
  "spiffe://valkey.example/ns/shop/valkeycluster/cart/node/a/b",
  "spiffe://valkey.example/ns/shop/valkeycluster/cart/node/a\n",
  "spiffe://valkey.example/ns/shop/valkeycluster/cart/node/a\0",
  "spiffe://valkey.example/ns/shop/valkeycluster/cart/node/",
  "spiffe://valkey.example/ns/shop/valkeycluster//node/a",
  "spiffe://valkey.example/ns/shop/ValkeyCluster/cart/node/a",
  `spiffe://valkey.example/ns/shop/valkeycluster/cart/node/${"a.".repeat(1200)}a`,
])("what is no identity is refused with a reason: %#", (text) => {
  const result = parseSpiffeId(text);
  expect(result.ok).toBe(false);
  if (!result.ok) expect(result.reason.length).toBeLessThan(260);
});

const label = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?$/);
const dnsName = fc.array(label, { minLength: 1, maxLength: 4 }).map((labels) => labels.join("."));
const ids: fc.Arbitrary<SpiffeId> = fc.oneof(
  fc.record({ role: fc.constant("operator" as const), trustDomain: dnsName, namespace: label }),
  fc.record({
    role: fc.constant("node" as const),
    trustDomain: dnsName,
    namespace: label,
    kind: fc.stringMatching(/^[a-z][a-z0-9]{0,20}$/),
    name: dnsName,
    node: dnsName,
  }),
);

test("every identity survives being written and read", () => {
  fc.assert(fc.property(ids, (id) => expect(parseSpiffeId(formatSpiffeId(id))).toEqual({ ok: true, id })));
});

test("whatever is accepted is written back as the very same text: no two texts are one identity", () => {
  const parts = fc.array(
    fc.constantFrom("spiffe://", "a", "/", "ns", "operator", "node", ".", "%2f", "A", "@", ":", "\n"),
  );
  fc.assert(
    fc.property(
      fc.oneof(
        parts.map((all) => all.join("")),
        fc.string({ unit: "binary" }),
      ),
      (text) => {
        const result = parseSpiffeId(text);
        if (result.ok) expect(formatSpiffeId(result.id)).toBe(text);
      },
    ),
  );
});

test("parts that would not read back are refused when writing", () => {
  expect(() => formatSpiffeId({ ...node, node: "a/b" })).toThrow("bad node");
  expect(() => formatSpiffeId({ ...node, namespace: "" })).toThrow("bad namespace");
});

test("agents of one deployment know each other by owner, not by node", () => {
  expect(sameDeployment(node, { ...node, node: "cart-0-2" })).toBe(true);
  expect(sameDeployment(node, { ...node, name: "cart2" })).toBe(false);
  expect(sameDeployment(node, { ...node, namespace: "other" })).toBe(false);
  expect(sameDeployment(node, { ...node, trustDomain: "other" })).toBe(false);
});
