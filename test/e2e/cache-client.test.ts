/** The client and the transport against the real API server. */
import { afterAll, expect, test } from "bun:test";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ApiException, CoreV1Api } from "@kubernetes/client-node";
import type { KubeClient } from "../../pkg/kube/client.ts";
import { loadConnection } from "../../pkg/kube/kube-config.ts";
import { isKubeError, type KubeError } from "../../pkg/kube/kube-error.ts";
import { CONFIG_MAPS, PDBS, SERVICE_ACCOUNTS } from "../../pkg/kube/resource.ts";
import { FileText, SourcedCredentials } from "../../pkg/kube/transport-credentials.ts";
import { clientOf, ownIn, withNamespace } from "../lib/kube.ts";
import { selfSigned } from "../lib/self-signed.ts";

const client = clientOf();
afterAll(() => client.close());

async function failure(call: Promise<unknown>): Promise<KubeError> {
  const outcome = await call.then(
    () => new Error("it did not fail"),
    (error: unknown) => error,
  );
  if (isKubeError(outcome)) return outcome;
  throw outcome;
}

test("errors name the object, the code and the server's words", async () => {
  await withNamespace(client, async (namespace) => {
    const ref = { namespace, name: "x" };
    expect((await failure(client.get(CONFIG_MAPS, ref))).message).toBe(
      `[not-found] get ConfigMap ${namespace}/x: configmaps "x" not found`,
    );
    expect(await client.find(CONFIG_MAPS, ref)).toBeUndefined();
    const made = await client.create(CONFIG_MAPS, { metadata: ref, data: { a: "1" } });
    expect((await failure(client.create(CONFIG_MAPS, { metadata: ref }))).code).toBe("already-exists");
    await client.update(CONFIG_MAPS, { ...made, data: { a: "2" } });
    expect((await failure(client.update(CONFIG_MAPS, { ...made, data: { a: "3" } }))).code).toBe("conflict");
    const wrong = await failure(client.create(PDBS, { metadata: ref, spec: { minAvailable: -1 } }));
    expect(wrong.code).toBe("invalid");
    expect(wrong.causes.map(({ field }) => field)).toEqual(["spec.minAvailable"]);
  });
});

test("server-side apply names the manager it conflicts with, and force takes over", async () => {
  await withNamespace(client, async (namespace) => {
    const body = (value: string) => ({ metadata: { namespace, name: "x" }, data: { value } });
    await client.apply(CONFIG_MAPS, body("1"), { fieldManager: "one" });
    const error = await failure(client.apply(CONFIG_MAPS, body("2"), { fieldManager: "two" }));
    expect(error.code).toBe("conflict");
    expect(error.serverMessage).toContain('conflict with "one": .data.value');
    expect(
      await client.apply(CONFIG_MAPS, body("3"), { fieldManager: "two", force: true, dryRun: true }),
    ).toMatchObject({
      data: { value: "3" },
    });
    expect(await client.get(CONFIG_MAPS, { namespace, name: "x" })).toMatchObject({ data: { value: "1" } });
    const patch = { type: "json", operations: [{ op: "test", path: "/data/value", value: "9" }] } as const;
    expect((await failure(client.patch(CONFIG_MAPS, { namespace, name: "x" }, patch))).code).toBe("invalid");
  });
});

test("a deletion hits the object it means or none", async () => {
  await withNamespace(client, async (namespace) => {
    const ref = { namespace, name: "x" };
    const made = await client.create(CONFIG_MAPS, { metadata: { ...ref, finalizers: ["test/hold"] } });
    expect((await failure(client.delete(CONFIG_MAPS, ref, { uid: "another" }))).code).toBe("conflict");
    expect(await client.delete(CONFIG_MAPS, ref, { uid: made.metadata.uid })).toBe("terminating");
    await client.patch(CONFIG_MAPS, ref, { type: "merge", body: { metadata: { finalizers: null } } });
    expect(await client.delete(CONFIG_MAPS, ref)).toBe("absent");
    await client.create(CONFIG_MAPS, { metadata: ref });
    expect(await client.delete(CONFIG_MAPS, ref)).toBe("deleted");
  });
});

test("a list comes in pages, of one moment, and may be metadata alone", async () => {
  await withNamespace(client, async (namespace) => {
    const names = Array.from({ length: 30 }, (_, n) => `config-${n}`);
    await Promise.all(
      names.map((name) => client.create(CONFIG_MAPS, { metadata: { namespace, name }, data: { name } })),
    );
    const page = await client.list(CONFIG_MAPS, { ...ownIn(namespace), limit: 7 });
    expect(page.items).toHaveLength(7);
    expect(page.continue).toBeString();
    const all = await client.listAll(CONFIG_MAPS, { ...ownIn(namespace), limit: 7, metadataOnly: true });
    expect(all.items.map((item) => item.metadata.name).toSorted()).toEqual(names.toSorted());
    expect(all.items.some((item) => "data" in item)).toBe(false);
  });
});

test("a server with a certificate of another CA is refused, with or without a CA given", async () => {
  const { connection } = client.transport;
  const { cert } = await selfSigned("127.0.0.1");
  for (const ca of [cert, undefined]) {
    const other = clientOf({ ...connection, tls: () => ({ ca }) });
    const error = await failure(other.raw({ path: "/version" }));
    expect(error.code).toBe("unreachable");
    expect(error.message).toContain("certificate does not fit the CA");
  }
});

test("a token file with a stale token is read again when the server refuses it", async () => {
  const folder = await mkdtemp(join(tmpdir(), "token-"));
  try {
    await withNamespace(client, async (namespace) => {
      const path = join(folder, "token");
      await writeFile(path, "stale");
      const source = new FileText(path);
      source.read();
      await writeFile(path, await tokenOf(client, namespace));
      const credentials = new SourcedCredentials({ token: source });
      const byToken = clientOf({ ...loadConnection(), credentials });
      const error = await failure(byToken.get(CONFIG_MAPS, { namespace, name: "x" }));
      expect(error.code).toBe("forbidden");
      expect(error.serverMessage).toContain(`system:serviceaccount:${namespace}:somebody`);
      expect(error.hint).toContain("RBAC");
      byToken.close();
    });
  } finally {
    await rm(folder, { recursive: true });
  }
});

async function tokenOf(admin: KubeClient, namespace: string): Promise<string> {
  await admin.create(SERVICE_ACCOUNTS, { metadata: { namespace, name: "somebody" } });
  const reply = await admin.raw({
    method: "POST",
    path: `/api/v1/namespaces/${namespace}/serviceaccounts/somebody/token`,
    body: { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} },
  });
  return (JSON.parse(reply) as { status: { token: string } }).status.token;
}

test("the API classes of client-node send through our transport", async () => {
  const core = client.api(CoreV1Api);
  const namespaces = await core.listNamespace();
  expect(namespaces.items.map((item) => item.metadata?.name)).toContain("kube-system");
  const missing = core.readNamespacedConfigMap({ namespace: "default", name: "no-such" });
  const error = await missing.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ApiException);
  expect(error).toMatchObject({ code: 404 });
});
