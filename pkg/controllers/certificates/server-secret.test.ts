import { expect, test } from "bun:test";
import { createIntermediate, createRoot, encodeCertificates, encodeKey, issueLeaf } from "../../pki/pki.ts";
import { serverWish, tlsIntermediate } from "../../plan/certificates/requests.ts";
import { SERVER_SECRETS } from "./server-secret.ts";

const life = { now: new Date("2030-01-01T00:00:00Z"), lifetimeMs: 3_600_000 };
const cart = { namespace: "shop", name: "cart" };
const root = await createRoot({ name: "root", ...life });
const between = await createIntermediate(root, { ...unscoped(), ...life });
const leaf = await issueLeaf(between, { ...serverWish(cart, 60_000), ...life });
const other = await createRoot({ name: "root", ...life });

function unscoped() {
  const { name, constraints } = tlsIntermediate(cart);
  return { name, constraints };
}

const GOOD = {
  "tls.crt": encodeCertificates([leaf.certificate, between.certificate]),
  "tls.key": await encodeKey(leaf.keys.privateKey),
  "ca.crt": encodeCertificates([root.certificate]),
};

function facts(files: Readonly<Record<string, string>>) {
  const data: Record<string, string> = {};
  for (const [name, text] of Object.entries(files)) data[name] = Buffer.from(text).toString("base64");
  return SERVER_SECRETS.parse({ metadata: { name: "s" }, data }).facts;
}

test("a whole chain with its key and root is good, and its names are known", () => {
  const { problem, missing, dnsNames } = facts(GOOD);
  expect([problem, missing]).toEqual([undefined, []]);
  expect(dnsNames).toContain("*.cart-headless.shop.svc");
});

test("what does not fit together is named, and nothing of it quoted", async () => {
  expect(facts({ "tls.crt": GOOD["tls.crt"] }).missing).toEqual(["tls.key", "ca.crt"]);
  const problem = (files: Partial<typeof GOOD>) => facts({ ...GOOD, ...files }).problem;
  expect(problem({ "tls.key": await encodeKey(other.keys.privateKey) })).toBe("tls.key is not the key of tls.crt");
  expect(problem({ "tls.key": "nonsense" })).toBe("tls.key is no private key in PEM that can be read");
  expect(problem({ "tls.crt": "nonsense" })).toContain("tls.crt holds no PEM block");
  expect(problem({ "ca.crt": encodeCertificates([other.certificate]) })).toContain(
    "does not lead to a certificate in ca.crt",
  );
  expect(problem({ "tls.crt": encodeCertificates([leaf.certificate]) })).toContain("put the whole chain into tls.crt");
});

test("a certificate that cannot be a client's will not do between nodes", async () => {
  const server = await issueLeaf(between, { ...serverWish(cart, 60_000), usages: ["server"], ...life });
  const files = {
    ...GOOD,
    "tls.crt": encodeCertificates([server.certificate, between.certificate]),
    "tls.key": await encodeKey(server.keys.privateKey),
  };
  expect(facts(files).problem).toContain("not made for client auth");
});
