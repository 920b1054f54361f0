/** Certificates towards clients: issued by the operator, or judged when they are somebody else's; the binding. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { VALKEY_BINDINGS, VALKEY_TLS } from "../../pkg/controllers/resources.ts";
import { SECRETS } from "../../pkg/kube/resource.ts";
import { type Credential, createRoot, encodeCertificates, encodeKey, issueLeaf } from "../../pkg/pki/pki.ts";
import { until } from "../lib/until.ts";
import { kubectl } from "./cluster.ts";
import { applyCluster } from "./clusters.ts";
import { installOperator, OPERATOR_NAMESPACE } from "./install.ts";
import { client } from "./operator.ts";
import { issued, opensslNames, opensslVerify } from "./pki-objects.ts";

const namespace = `pki-servers-${crypto.randomUUID().slice(0, 6)}`;
const DAY_MS = 86_400_000;

beforeAll(async () => {
  await installOperator();
  await kubectl(["create", "namespace", namespace]);
}, 300_000);
afterAll(async () => {
  await kubectl(["delete", "namespace", namespace, "--ignore-not-found", "--wait=false"]);
}, 300_000);

async function makeTls(name: string, spec: object): Promise<void> {
  await client.create(VALKEY_TLS, { metadata: { namespace, name }, spec });
}

async function tlsSays(name: string, phase: string, words: string): Promise<string> {
  return until(`${name} is ${phase}: ${words}`, async () => {
    const { status } = await client.get(VALKEY_TLS, { namespace, name });
    return status?.phase === phase && status.message?.includes(words) === true && status.message;
  });
}

describe("certificates of our own", () => {
  test("are issued for a cluster with TLS, with every name that clients may use", async () => {
    await makeTls("inner", {});
    await applyCluster({ namespace, name: "cart" }, { suspended: true, tls: "inner" });
    const server = await issued(namespace, "cart-server-tls");
    const root = await issued(OPERATOR_NAMESPACE, "valkey-root-ca-cert");
    expect(await opensslVerify(server, root.chain)).toContain("OK");
    const names = await opensslNames(server);
    for (const name of [`*.cart-headless.${namespace}.svc`, "DNS:cart,", `cart-read.${namespace}.svc`, "localhost"]) {
      expect(names).toContain(name);
    }
    expect(names).not.toContain("spiffe");
    await tlsSays("inner", "Ready", "cart-server-tls is in use");
  });

  test("are told in the binding, with the identities' issuer", async () => {
    const server = await issued(namespace, "cart-server-tls");
    const intermediate = await issued(namespace, "cart-mtls-ca");
    await until("a binding with both", async () => {
      const { spec } = await client.get(VALKEY_BINDINGS, { namespace, name: "cart-cert-binding" });
      expect(spec.active).toHaveLength(2);
      expect(spec.active).toMatchObject([
        { purpose: "mtls", thumbprint: intermediate.thumbprint, bundleRef: "cart-mtls" },
        { purpose: "tls", thumbprint: server.thumbprint, secretName: "cart-server-tls" },
      ]);
      return true;
    });
  });

  test("that are replaced are deprecated for a while", async () => {
    const before = await issued(namespace, "cart-server-tls");
    await client.delete(SECRETS, { namespace, name: "cart-server-tls" });
    const after = await issued(namespace, "cart-server-tls", ({ thumbprint }) => thumbprint !== before.thumbprint);
    await until("the binding tells both", async () => {
      const { spec } = await client.get(VALKEY_BINDINGS, { namespace, name: "cart-cert-binding" });
      const active = spec.active?.some(({ thumbprint }) => thumbprint === after.thumbprint);
      return active && spec.deprecated?.some(({ thumbprint }) => thumbprint === before.thumbprint);
    });
  });

  test("have their labels put back", async () => {
    const ref = { namespace, name: "cart-server-tls" };
    const before = await issued(namespace, "cart-server-tls");
    const body = { metadata: { labels: { "app.kubernetes.io/instance": "mine" } } };
    await client.patch(SECRETS, ref, { type: "merge", body });
    const after = await issued(
      namespace,
      "cart-server-tls",
      ({ secret }) => secret.metadata.labels?.["app.kubernetes.io/instance"] === "cart",
    );
    expect(after.thumbprint).toBe(before.thumbprint);
  });
});

describe("certificates of somebody else", () => {
  const base64 = (text: string) => Buffer.from(text).toString("base64");

  async function filesOf(leaf: Credential, root: Credential) {
    return {
      "tls.crt": base64(encodeCertificates([leaf.certificate])),
      "tls.key": base64(await encodeKey(leaf.keys.privateKey)),
      "ca.crt": base64(encodeCertificates([root.certificate])),
    };
  }

  test("are read by their name, never touched, and said what is wrong with them until they are right", async () => {
    const now = new Date();
    const root = await createRoot({ name: "theirs", now, lifetimeMs: DAY_MS });
    const other = await createRoot({ name: "other", now, lifetimeMs: DAY_MS });
    const leafFor = async (dns: string[], usages: ("server" | "client")[] = ["server", "client"]) =>
      issueLeaf(root, { name: "leaf", now, lifetimeMs: DAY_MS, names: { dns }, usages });
    await makeTls("outer", { externalCerts: "theirs" });
    await applyCluster({ namespace, name: "shop" }, { suspended: true, tls: "outer" });
    await tlsSays("outer", "MissingSecret", "create it with tls.crt, tls.key and ca.crt");
    const good = await filesOf(await leafFor([`*.shop-headless.${namespace}.svc`]), root);
    await client.create(SECRETS, { metadata: { namespace, name: "theirs" }, data: { "tls.crt": good["tls.crt"] } });
    await tlsSays("outer", "IncompleteSecret", "lacks tls.key and ca.crt");
    const put = async (data: Record<string, string>) =>
      client.patch(SECRETS, { namespace, name: "theirs" }, { type: "merge", body: { data } });
    await put({ ...good, "tls.key": base64(await encodeKey(other.keys.privateKey)) });
    await tlsSays("outer", "Error", "tls.key is not the key of tls.crt");
    await put({ ...good, "ca.crt": base64(encodeCertificates([other.certificate])) });
    await tlsSays("outer", "Error", "does not lead to a certificate in ca.crt");
    await put(await filesOf(await leafFor(["a.example"], ["server"]), root));
    await tlsSays("outer", "Error", "not made for client auth");
    await put(await filesOf(await leafFor(["a.example"]), root));
    await tlsSays("outer", "Ready", "clients that check names refuse these servers");
    await put(good);
    await tlsSays("outer", "Ready", "is in use");
    const { metadata } = await client.get(SECRETS, { namespace, name: "theirs" });
    expect([metadata.labels, metadata.annotations, metadata.ownerReferences]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });
});
