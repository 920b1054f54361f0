/** From a cluster and its nodes to certificates that openssl accepts; lost and edited ones come back. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { VALKEY_BUNDLES } from "../../pkg/controllers/resources.ts";
import { SECRETS } from "../../pkg/kube/resource.ts";
import { until } from "../lib/until.ts";
import { kubectl } from "./cluster.ts";
import { applyCluster } from "./clusters.ts";
import { installOperator, OPERATOR_NAMESPACE } from "./install.ts";
import * as operator from "./operator.ts";
import { issued, opensslNames, opensslVerify } from "./pki-objects.ts";

const namespace = `pki-identities-${crypto.randomUUID().slice(0, 6)}`;
const cluster = { namespace, name: "cart" };
const { client } = operator;

beforeAll(async () => {
  await installOperator();
  await kubectl(["create", "namespace", namespace]);
  // Suspended: nodes without pods.
  await applyCluster(cluster, { suspended: true, masterCount: 5 });
}, 300_000);
afterAll(async () => {
  await kubectl(["delete", "namespace", namespace, "--ignore-not-found", "--wait=false"]);
}, 300_000);

async function rootPem(): Promise<string> {
  return (await issued(OPERATOR_NAMESPACE, "valkey-root-ca-cert")).chain;
}

async function bundlePhase(name: string): Promise<string | undefined> {
  return (await client.get(VALKEY_BUNDLES, { namespace, name })).status?.phase;
}

describe("identities", () => {
  test("the operator has one under the root, and it is trusted by what it trusts", async () => {
    const own = await issued(OPERATOR_NAMESPACE, "valkey-operator-identity");
    expect(await opensslVerify(own, await rootPem())).toContain("OK");
    expect(await opensslNames(own)).toContain(`URI:spiffe://valkey.local/ns/${OPERATOR_NAMESPACE}/operator`);
  });

  test("a node gets one, with its names, its labels and its owner", async () => {
    const name = "cart-0-0";
    const leaf = await issued(namespace, `${name}-identity`);
    expect(await opensslVerify(leaf, await rootPem())).toContain("OK");
    const names = await opensslNames(leaf);
    expect(names).toContain(`URI:spiffe://valkey.local/ns/${namespace}/valkeycluster/cart/node/${name}`);
    expect(names).toContain(`DNS:${name}.${namespace}.svc`);
    expect(leaf.secret.metadata.labels).toMatchObject({ "valkey.io/cr": "cart", "valkey.io/node": name });
    expect(leaf.secret.metadata.ownerReferences).toMatchObject([{ kind: "ValkeyNode", name }]);
    await until("its issuer is Ready", async () => (await bundlePhase("cart-mtls")) === "Ready");
  });

  test("ten nodes get theirs, each its own", async () => {
    const names = [0, 1, 2, 3, 4].flatMap((shard) => [`cart-${shard}-0`, `cart-${shard}-1`]);
    const leaves = await Promise.all(names.map(async (name) => issued(namespace, `${name}-identity`)));
    expect(new Set(leaves.map(({ thumbprint }) => thumbprint)).size).toBe(10);
  });

  test("a deleted one comes back, an edited one is replaced", async () => {
    const name = "cart-0-0-identity";
    const first = await issued(namespace, name);
    await client.delete(SECRETS, { namespace, name });
    const second = await issued(namespace, name, ({ thumbprint }) => thumbprint !== first.thumbprint);
    const body = { data: { "tls.key": btoa("no key at all") } };
    await client.patch(SECRETS, { namespace, name }, { type: "merge", body });
    const third = await issued(namespace, name, ({ thumbprint }) => thumbprint !== second.thumbprint);
    expect(await opensslVerify(third, await rootPem())).toContain("OK");
    const worse = { data: { "ca.crt": null } };
    await client.patch(SECRETS, { namespace, name }, { type: "merge", body: worse });
    const fourth = await issued(namespace, name);
    expect(fourth.rootThumbprints).toEqual(third.rootThumbprints);
    expect(fourth.thumbprint).toBe(third.thumbprint);
  });

  test("a lost intermediate is issued anew, and the leaves follow it", async () => {
    const leaf = await issued(namespace, "cart-0-0-identity");
    await client.delete(SECRETS, { namespace, name: "cart-mtls-ca" });
    const after = await issued(namespace, "cart-0-0-identity", ({ thumbprint }) => thumbprint !== leaf.thumbprint);
    expect(await opensslVerify(after, await rootPem())).toContain("OK");
  });

  test("a Secret of somebody else under such a name is left alone, and the bundle says so", async () => {
    const other = { namespace, name: "foreign" };
    await client.create(SECRETS, { metadata: { namespace, name: "foreign-mtls-ca" }, data: { mine: btoa("yes") } });
    await applyCluster(other, { suspended: true });
    await until("the bundle tells it", async () => {
      const { status } = await client.get(VALKEY_BUNDLES, { namespace, name: "foreign-mtls" });
      return status?.phase === "Error" && status.message?.includes("was not made by this operator");
    });
    await client.delete(SECRETS, { namespace, name: "foreign-mtls-ca" });
    await until("it is issued", async () => (await bundlePhase("foreign-mtls")) === "Ready");
  });
});
