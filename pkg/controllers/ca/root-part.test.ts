import { describe, expect, test } from "bun:test";
import { type Credential, createRoot, encodeCertificates, encodeKey, issueLeaf, thumbprint } from "../../pki/pki.ts";
import { ROOT_SECRETS, rootOf } from "./root-part.ts";

const now = new Date("2026-01-02T03:04:05Z");
const lifetimeMs = 86_400_000;
const root = await createRoot({ name: "one", now, lifetimeMs });
const other = await createRoot({ name: "other", now, lifetimeMs });

async function pems({ certificate, keys }: Pick<Credential, "certificate" | "keys">) {
  return { crt: encodeCertificates([certificate]), key: await encodeKey(keys.privateKey) };
}

function view(data: Record<string, string>) {
  const encoded: Record<string, string> = {};
  for (const [key, text] of Object.entries(data)) encoded[key] = Buffer.from(text).toString("base64");
  const part = ROOT_SECRETS.parse({ metadata: { name: "root" }, data: encoded });
  return rootOf(part, part);
}

describe("what the Secret of a root holds", () => {
  test("a root with its key can be used", async () => {
    const { crt, key } = await pems(root);
    expect(view({ "tls.crt": crt, "tls.key": key })).toMatchObject({
      found: "root",
      thumbprint: thumbprint(root.certificate),
    });
  });

  test("no Secret is nothing", () => {
    expect(rootOf(undefined, undefined)).toEqual({ found: "nothing" });
  });

  test("the key is not kept", async () => {
    const { crt, key } = await pems(root);
    const data = { "tls.crt": btoa(crt), "tls.key": btoa(key) };
    const kept = JSON.stringify(ROOT_SECRETS.parse({ metadata: { name: "root" }, data }));
    expect(kept).not.toContain(btoa(key).slice(60, 100));
    expect(kept).not.toContain(key.split("\n")[1] ?? "unreachable");
  });

  test("what cannot sign is unusable, and says why", async () => {
    const { crt, key } = await pems(root);
    const leaf = await pems(
      await issueLeaf(root, { name: "leaf", names: { dns: ["a.example"] }, usages: ["server"], now, lifetimeMs }),
    );
    const sec1 = key.replaceAll("PRIVATE KEY", "EC PRIVATE KEY");
    const broken = `-----BEGIN PRIVATE KEY-----\n${btoa("nonsense")}\n-----END PRIVATE KEY-----\n`;
    const why = (data: Record<string, string>) => {
      const seen = view(data);
      return seen.found === "unusable" ? seen.why : seen.found;
    };
    expect(why({})).toBe("tls.crt is missing");
    expect(why({ "tls.crt": crt })).toBe("tls.key is missing");
    expect(why({ "tls.crt": "nonsense", "tls.key": key })).toContain("tls.crt holds no PEM block");
    expect(why({ "tls.crt": leaf.crt, "tls.key": leaf.key })).toBe("tls.crt is no certificate authority");
    expect(why({ "tls.crt": crt, "tls.key": (await pems(other)).key })).toBe("tls.key is not the key of tls.crt");
    expect(why({ "tls.crt": crt, "tls.key": sec1 })).toContain("must be a PKCS8 key");
    expect(why({ "tls.crt": crt, "tls.key": broken })).toBe("tls.key is no ECDSA P-256 key");
  });
});
