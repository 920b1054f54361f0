import { afterAll, expect, test } from "bun:test";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseValkeyCA } from "../../api/ca.ts";
import { rootOf } from "./root-part.ts";
import { newRoot } from "./root-secret.ts";
import { SecretsStore } from "./secrets-store.ts";

const path = await mkdtemp(join(tmpdir(), "secrets-store-"));
afterAll(async () => rm(path, { recursive: true }));
const ca = parseValkeyCA({
  apiVersion: "valkey.io/v1alpha1",
  kind: "ValkeyCA",
  metadata: { name: "ca", namespace: "ops" },
  spec: { caCertSecretRef: "vault", secretType: "SecretsStore" },
});

async function put(root: Awaited<ReturnType<typeof newRoot>>): Promise<void> {
  await mkdir(join(path, "vault"), { recursive: true });
  await Bun.write(join(path, "vault", "tls.crt"), root.certificate);
  await Bun.write(join(path, "vault", "tls.key"), root.key);
}

test("a root is found in its folder, missed when it is not there, and seen to change", async () => {
  const store = new SecretsStore({ path });
  const heard: string[] = [];
  store.subscribe((name) => heard.push(name));
  store.want("ops/ca", ["vault"]);
  expect(store.part("vault")).toBe("unknown");
  await store.look();
  expect(store.part("vault")).toBeUndefined();
  const root = await newRoot(ca, new Date());
  await put(root);
  await store.look();
  await store.look();
  const part = store.part("vault");
  const view = part === "unknown" ? undefined : rootOf(part, part);
  expect(view).toMatchObject({ found: "root", made: false });
  expect(heard).toEqual(["vault", "vault"]);
  await put(await newRoot(ca, new Date()));
  await store.look();
  expect(heard).toHaveLength(3);
  expect((await store.files("vault"))["tls.crt"]).not.toBe(root.certificate);
});

test("nothing is looked for that nobody wants", async () => {
  const store = new SecretsStore({ path });
  await store.look();
  expect(store.part("vault")).toBe("unknown");
});
