/** pki FOLDER: a root, an issuer that may only name things of one deployment, and leafs that keep to it or do not. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type LeafOptions, makeAuthority, makeLeaf, writeIdentity } from "../../lib/pki.ts";
import { say } from "./say.ts";

export async function writeChains([folder = "."]: readonly string[]): Promise<void> {
  const root = await makeAuthority({ name: "root" });
  const issuer = await makeAuthority({
    name: "issuer",
    issuer: root,
    permitted: { dns: ["db.example"], uri: ["db.example"] },
  });
  const stranger = await makeAuthority({ name: "stranger" });
  const leafs: Record<string, Omit<LeafOptions, "name">> = {
    good: { issuer, dns: ["a.db.example"], uri: ["spiffe://db.example/a"] },
    expired: { issuer, dns: ["a.db.example"], hours: -1 },
    "other-name": { issuer, dns: ["a.elsewhere.example"] },
    "other-uri": { issuer, uri: ["spiffe://elsewhere.example/a"] },
    "other-root": { issuer: stranger, dns: ["a.db.example"] },
  };
  for (const [name, options] of Object.entries(leafs)) {
    await writeIdentity(folder, name, await makeLeaf({ name, ...options }));
  }
  await writeFile(join(folder, "ca.crt"), root.certPem);
  await writeFile(join(folder, "issuer.crt"), issuer.certPem);
  say({ written: Object.keys(leafs) });
}
