import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TarEntry } from "../scripts/oci.ts";
import { baseEntries, PACKAGES, type UnpackedPackage } from "./base.ts";

let root = "";
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "base-"));
});
afterEach(() => rm(root, { recursive: true, force: true }));

async function unpacked(name: string, files: readonly string[]): Promise<UnpackedPackage> {
  const wanted = PACKAGES.find((entry) => entry.name === name);
  if (wanted === undefined) throw new Error(`no ${name}`);
  for (const path of files) {
    if (path.endsWith("/")) await mkdir(join(root, path), { recursive: true });
    else await Bun.write(join(root, path), path);
  }
  return { ...wanted, version: "1", architecture: "all", sha256: "", control: `Package: ${name}\n`, files: [...files] };
}

function entryAt(entries: readonly TarEntry[], path: string): TarEntry | undefined {
  return entries.find((entry) => entry.path === path);
}

test("nothing that a package brings into the base layer is a program to run", () => {
  for (const { take } of PACKAGES) {
    for (const path of ["bin/sh", "usr/bin/openssl", "usr/sbin/update-ca-certificates", "sbin/ldconfig"]) {
      expect(take.test(path)).toBe(false);
    }
  }
});

test("only the packages' own files are taken, not those of what they depend on", async () => {
  const libc = await unpacked("libc6", ["lib/", "lib/libc.so.6", "usr/bin/ldd"]);
  await Bun.write(join(root, "lib/libgcc_s.so.1"), "of another package");
  const paths = (await baseEntries([libc], root)).map(({ path }) => path);
  expect(paths).toContain("lib/libc.so.6");
  expect(paths).not.toContain("lib/libgcc_s.so.1");
  expect(paths).not.toContain("usr/bin/ldd");
});

test("links stay links, and the control data stands where scanners look", async () => {
  const libc = await unpacked("libc6", ["lib/ld.so"]);
  await mkdir(join(root, "lib64"));
  await symlink("../lib/ld.so", join(root, "lib64/ld-linux.so.2"));
  const entries = await baseEntries([{ ...libc, files: [...libc.files, "lib64/ld-linux.so.2"] }], root);
  expect(entryAt(entries, "lib64/ld-linux.so.2")).toMatchObject({ kind: "symlink", target: "../lib/ld.so" });
  expect(entryAt(entries, "var/lib/dpkg/status.d/libc6")).toMatchObject({ content: "Package: libc6\n" });
});

test("the trusted roots become one file, in an order that does not depend on the package", async () => {
  const folder = "usr/share/ca-certificates/mozilla";
  const certificates = await unpacked("ca-certificates", [`${folder}/b.crt`, `${folder}/a.crt`]);
  expect(entryAt(await baseEntries([certificates], root), "etc/ssl/certs/ca-certificates.crt")).toMatchObject({
    content: `${folder}/a.crt\n${folder}/b.crt\n`,
  });
});
