/** The roots of ValkeyCAs as the operator keeps them: made, taken as they are, refused, made again. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { VALKEY_CAS } from "../../pkg/controllers/resources.ts";
import { SECRETS } from "../../pkg/kube/resource.ts";
import { type Credential, createRoot, encodeCertificates, encodeKey, thumbprint } from "../../pkg/pki/pki.ts";
import { until } from "../lib/until.ts";
import { kubectl } from "./cluster.ts";
import { installOperator } from "./install.ts";
import * as operator from "./operator.ts";

const namespace = `operator-root-${crypto.randomUUID().slice(0, 6)}`;

beforeAll(async () => {
  await installOperator();
  await kubectl(["create", "namespace", namespace]);
}, 300_000);
afterAll(async () => {
  await kubectl(["delete", "namespace", namespace, "--ignore-not-found", "--wait=false"]);
}, 300_000);

async function newRoot(name: string): Promise<Credential> {
  return createRoot({ name, now: new Date(), lifetimeMs: 86_400_000 });
}

async function dataOf(root: Credential): Promise<{ "tls.crt": string; "tls.key": string }> {
  const base64 = (text: string) => Buffer.from(text).toString("base64");
  const key = await encodeKey(root.keys.privateKey);
  return { "tls.crt": base64(encodeCertificates([root.certificate])), "tls.key": base64(key) };
}

async function putSecret(name: string, data: Record<string, string>): Promise<void> {
  await operator.client.create(SECRETS, { metadata: { namespace, name }, type: "Opaque", data });
}

async function failing(name: string, why: string): Promise<void> {
  await until(`${name} is in Error: ${why}`, async () => {
    const { phase, message = "" } = await operator.caStatus(namespace, name);
    return phase === "Error" && message.includes(why) && message.includes("put a root certificate and its key there");
  });
}

describe("the root of a ValkeyCA", () => {
  test("is made when it is missing, once", async () => {
    await operator.makeCA(namespace, "made");
    await operator.caReady(namespace, "made");
    const event = await operator.eventOf(namespace, "made", "RootMade");
    expect(event).toMatchObject({ type: "Normal" });
    expect(event.note).toContain("made a root certificate in Secret made");
  });

  test("that was deleted is made again, and an event says what that means", async () => {
    await operator.makeCA(namespace, "deleted");
    const before = await operator.caReady(namespace, "deleted");
    await operator.client.delete(SECRETS, { namespace, name: "deleted" });
    const after = await until("another root", async () => {
      const now = await operator.caReady(namespace, "deleted");
      return now !== before && now;
    });
    const event = await operator.eventOf(namespace, "deleted", "RootReplaced");
    expect(event.type).toBe("Warning");
    expect(event.note).toContain(`the Secret with root ${before} was gone`);
    expect(after).not.toBe(before);
  });

  test("that is there already is taken as it is", async () => {
    const root = await newRoot("ours");
    const data = await dataOf(root);
    await putSecret("taken", data);
    await operator.makeCA(namespace, "taken");
    expect(await operator.caReady(namespace, "taken")).toBe(thumbprint(root.certificate));
    expect(await operator.client.get(SECRETS, { namespace, name: "taken" })).toMatchObject({ data, type: "Opaque" });
  });

  test("keeps the marks that its owner has put on it", async () => {
    const root = await newRoot("marked");
    const labels = { "app.kubernetes.io/managed-by": "somebody" };
    const secret = { metadata: { namespace, name: "marked", labels }, type: "Opaque", data: await dataOf(root) };
    await operator.client.create(SECRETS, secret);
    await operator.makeCA(namespace, "marked");
    expect(await operator.caReady(namespace, "marked")).toBe(thumbprint(root.certificate));
    expect((await operator.client.get(SECRETS, { namespace, name: "marked" })).metadata.labels).toEqual(labels);
  });

  test("has its key where caKeySecretRef says, and is told when only one of the two is there", async () => {
    const spec = { caCertSecretRef: "apart", caKeySecretRef: "apart-key" };
    await operator.client.create(VALKEY_CAS, { metadata: { namespace, name: "apart" }, spec });
    await operator.caReady(namespace, "apart");
    const key = await operator.client.get(SECRETS, { namespace, name: "apart-key" });
    const certificate = await operator.client.get(SECRETS, { namespace, name: "apart" });
    expect(Object.keys(key["data"] ?? {})).toEqual(["tls.key"]);
    expect(Object.keys(certificate["data"] ?? {}).toSorted()).toEqual(["ca.crt", "tls.crt"]);
    await operator.client.delete(SECRETS, { namespace, name: "apart-key" });
    await failing("apart", "tls.key is missing");
  });

  test("is looked for in the secrets store only by ValkeyCAs of the operator's namespace", async () => {
    const spec = { caCertSecretRef: "vault", secretType: "SecretsStore" };
    await operator.client.create(VALKEY_CAS, { metadata: { namespace, name: "vault" }, spec });
    await failing("vault", "serves ValkeyCAs in its namespace");
    expect(await operator.secretThere(namespace, "vault")).toBe(false);
  });

  test("that cannot be used is told with what to do, left alone, and used once it is mended", async () => {
    const root = await newRoot("mended");
    const data = await dataOf(root);
    const broken = { ...data, "tls.crt": btoa("no certificate") };
    await putSecret("mended", broken);
    await operator.makeCA(namespace, "mended");
    await failing("mended", "tls.crt holds no PEM block");
    const mend = async (body: Record<string, string>) =>
      operator.client.patch(SECRETS, { namespace, name: "mended" }, { type: "merge", body: { data: body } });
    expect(await operator.client.get(SECRETS, { namespace, name: "mended" })).toMatchObject({ data: broken });
    await mend({ ...data, "tls.key": (await dataOf(await newRoot("other")))["tls.key"] });
    await failing("mended", "tls.key is not the key of tls.crt");
    await mend(data);
    expect(await operator.caReady(namespace, "mended")).toBe(thumbprint(root.certificate));
  });

  test("outlives its ValkeyCA", async () => {
    await operator.makeCA(namespace, "orphaned");
    const before = await operator.caReady(namespace, "orphaned");
    await operator.client.delete(VALKEY_CAS, { namespace, name: "orphaned" });
    await until(
      "the ValkeyCA is gone",
      async () => (await operator.client.find(VALKEY_CAS, { namespace, name: "orphaned" })) === undefined,
    );
    expect(await operator.secretThere(namespace, "orphaned")).toBe(true);
    await operator.makeCA(namespace, "orphaned");
    expect(await operator.caReady(namespace, "orphaned")).toBe(before);
  });
});
