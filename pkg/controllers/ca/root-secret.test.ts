/** The steps of a root's rotation as they are written, for one Secret and for two. */
import { describe, expect, test } from "bun:test";
import { parseValkeyCA, type ValkeyCA } from "../../api/ca.ts";
import type { RootView } from "../../plan/ca.ts";
import { type RootFiles, rootOf, rootPart, trustedOf } from "./root-part.ts";
import { addNext, changeToNext, dropOld, newRoot, newRootSecrets, type RootChange } from "./root-secret.ts";

const NOW = new Date("2030-01-01T00:00:00Z");

function caOf(keySecret?: string): ValkeyCA {
  const spec = { caCertSecretRef: "root", ...(keySecret === undefined ? {} : { caKeySecretRef: keySecret }) };
  return parseValkeyCA({
    apiVersion: "valkey.io/v1alpha1",
    kind: "ValkeyCA",
    metadata: { name: "ca", namespace: "ops" },
    spec,
  });
}

/** What is stored, as the API server would merge it. */
class Stored {
  files: Record<string, string>;
  keys: Record<string, string>;
  notes: Record<string, string> = { "valkey.io/ca": "ca" };

  constructor(files: RootFiles, keys: RootFiles) {
    this.files = { ...files };
    this.keys = { ...keys };
  }

  write({ certificate, key }: RootChange, only?: "key"): void {
    merge(this.keys, key.files);
    if (only === "key") return;
    merge(this.files, certificate.files);
    merge(this.notes, certificate.notes);
  }

  get view(): RootView & { found: "root" } {
    const certificate = rootPart({ name: "root", annotations: this.notes }, this.files);
    const view = rootOf(certificate, rootPart({ name: "key" }, this.keys));
    if (view.found !== "root") throw new Error(JSON.stringify(view));
    return view;
  }

  get trusted(): readonly string[] {
    return trustedOf(rootPart({ name: "root" }, this.files)).map(({ thumbprint }) => thumbprint);
  }
}

function merge(into: Record<string, string>, changes: Readonly<Record<string, string | null>>): void {
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) delete into[name];
    else into[name] = value;
  }
}

async function stored(): Promise<Stored> {
  const { certificate, key } = await newRoot(caOf(), NOW);
  return new Stored({ "tls.crt": certificate, "ca.crt": certificate }, { "tls.key": key });
}

describe("the rotation of a root", () => {
  test("goes from one that signs, over two that are trusted, to the other one alone", async () => {
    const secret = await stored();
    const first = secret.view.thumbprint;
    secret.write(addNext(secret.files, await newRoot(caOf(), NOW), "please", NOW));
    const next = secret.view.next?.thumbprint ?? "none";
    expect(secret.view).toMatchObject({ thumbprint: first, next: { since: NOW }, rotation: "please", old: [] });
    expect(secret.trusted).toEqual([first, next]);
    secret.write(changeToNext(secret.files, secret.keys, NOW));
    expect(secret.view).toMatchObject({
      thumbprint: next,
      next: undefined,
      signsSince: NOW,
      old: [{ thumbprint: first }],
    });
    expect(secret.trusted).toEqual([next, first]);
    expect(Object.keys(secret.keys)).toEqual(["tls.key"]);
    secret.write(dropOld(secret.files));
    expect(secret.trusted).toEqual([next]);
    expect(secret.view).toMatchObject({ thumbprint: next, old: [] });
  });

  test("that is cut off between key and certificate is seen, and finished by the same step", async () => {
    const secret = await stored();
    secret.write(addNext(secret.files, await newRoot(caOf(), NOW), undefined, NOW));
    const next = secret.view.next?.thumbprint;
    secret.write(changeToNext(secret.files, secret.keys, NOW), "key");
    expect(secret.view.halfChanged).toBe(true);
    secret.write(changeToNext(secret.files, secret.keys, NOW));
    expect(secret.view).toMatchObject({ thumbprint: next });
    expect(secret.view.halfChanged).toBeUndefined();
  });
});

test("a new root with a place of its own for the key is made of two Secrets, the key first", async () => {
  const root = await newRoot(caOf(), NOW);
  const [key, certificate] = newRootSecrets(caOf("secret-key"), root);
  expect([key?.metadata.name, certificate?.metadata.name]).toEqual(["secret-key", "root"]);
  expect(JSON.stringify(certificate)).not.toContain(Buffer.from(root.key).toString("base64"));
  expect(newRootSecrets(caOf(), root)).toHaveLength(1);
});
