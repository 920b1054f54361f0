/**
 * The lowest layer of our images where there is no registry to take one from: the C library and the trusted roots of
 * Debian, the users, and the folders that a pod mounts over. No shell, no package manager.
 *
 * The packages are the newest of Debian 12 on the day they were first unpacked; from then on the cached ones are
 * taken, and the layer has the same bytes.
 */
import { lstat, readlink } from "node:fs/promises";
import { join } from "node:path";
import { cacheHome } from "../scripts/build.ts";
import { ensureRoot, packagesOf } from "../scripts/debian.ts";
import type { DebianPackage } from "../scripts/debian-package.ts";
import { step, Trouble } from "../scripts/lib.ts";
import type { Architecture, TarEntry } from "../scripts/oci.ts";
import { writeTar } from "../scripts/oci-tar.ts";
import { USER } from "./files.ts";

export interface BasePackage {
  readonly name: string;
  readonly license: string;
  /** Which of its files are taken, from the root, without a leading slash. */
  readonly take: RegExp;
}

export const PACKAGES: readonly BasePackage[] = [
  {
    name: "libc6",
    license: "LGPL-2.1-or-later",
    take: /^(lib(64)?\/.*\.so.*|usr\/share\/doc\/libc6\/copyright)$/,
  },
  {
    name: "ca-certificates",
    license: "GPL-2.0-or-later AND MPL-2.0",
    take: /^usr\/share\/(ca-certificates\/mozilla\/.*\.crt|doc\/ca-certificates\/copyright)$/,
  },
];

/** A package as it was unpacked, and what of it is in the layer. */
export type UnpackedPackage = BasePackage & DebianPackage;

export interface BaseLayer {
  readonly tar: string;
  readonly packages: readonly UnpackedPackage[];
}

/** The layer as a tar in the cache folder, made on first use. Any number of processes may ask at once. */
export async function baseLayer(architecture: Architecture): Promise<BaseLayer> {
  const folder = join(cacheHome(), "images");
  const names = PACKAGES.map(({ name }) => name);
  const recipe = { suite: "bookworm", packages: names, architecture };
  const unpacked = await ensureRoot(join(folder, `bookworm-${architecture}`), recipe);
  const packages = matched(await packagesOf(unpacked));
  const tar = join(folder, `base-${architecture}-${await layerKey(packages)}.tar`);
  if (!(await Bun.file(tar).exists())) {
    await step(`base layer ${architecture} (once)`, async () =>
      writeTar(tar, await baseEntries(packages, unpacked.root)),
    );
  }
  return { tar, packages };
}

function matched(found: readonly DebianPackage[]): UnpackedPackage[] {
  return PACKAGES.map((wanted) => {
    const unpacked = found.find(({ name }) => name === wanted.name);
    if (unpacked === undefined) throw new Trouble(`the cached packages of the base layer have no ${wanted.name}`);
    return { ...unpacked, ...wanted };
  });
}

/** Of everything that makes the layer what it is: this file, the packages and the user. */
async function layerKey(packages: readonly UnpackedPackage[]): Promise<string> {
  const hash = new Bun.CryptoHasher("sha256").update(await Bun.file(import.meta.path).text());
  for (const { name, version, sha256 } of packages) hash.update(`${name} ${version} ${sha256}\n`);
  return hash.update(`${USER.name} ${USER.id}`).digest("hex").slice(0, 16);
}

export async function baseEntries(packages: readonly UnpackedPackage[], root: string): Promise<TarEntry[]> {
  const unpacked: TarEntry[] = [];
  for (const wanted of packages) unpacked.push(...(await packageEntries(wanted, root)));
  return withParents([...unpacked, await certificateBundle(unpacked), ...ETC, ...FOLDERS]);
}

async function packageEntries({ name, control, files, take }: UnpackedPackage, root: string): Promise<TarEntry[]> {
  const entries: TarEntry[] = [
    // Where scanners of images without a package manager look for what is installed.
    { kind: "file", path: `var/lib/dpkg/status.d/${name}`, content: control },
  ];
  for (const path of files.filter((file) => take.test(file) && !file.endsWith("/"))) {
    const source = join(root, path);
    entries.push(
      (await lstat(source)).isSymbolicLink()
        ? { kind: "symlink", path, target: await readlink(source) }
        : { kind: "copy", path, source, mode: /\/(ld-|libc\.)/.test(path) ? 0o755 : 0o644 },
    );
  }
  return entries;
}

/** What Debian's update-ca-certificates would make of the single files. */
async function certificateBundle(entries: readonly TarEntry[]): Promise<TarEntry> {
  const sources = entries.flatMap((entry) =>
    entry.kind === "copy" && entry.path.endsWith(".crt") ? entry.source : [],
  );
  const texts = await Promise.all(sources.toSorted().map((source) => Bun.file(source).text()));
  const content = texts.map((text) => `${text.trimEnd()}\n`).join("");
  return { kind: "file", path: "etc/ssl/certs/ca-certificates.crt", content };
}

const ETC: readonly TarEntry[] = [
  {
    kind: "file",
    path: "etc/passwd",
    content: [
      "root:x:0:0:root:/root:/sbin/nologin",
      "nobody:x:65534:65534:nobody:/nonexistent:/sbin/nologin",
      `${USER.name}:x:${USER.id}:${USER.id}:${USER.name}:/home/${USER.name}:/sbin/nologin`,
      "",
    ].join("\n"),
  },
  {
    kind: "file",
    path: "etc/group",
    content: ["root:x:0:", "tty:x:5:", "nobody:x:65534:", `${USER.name}:x:${USER.id}:`, ""].join("\n"),
  },
  // Without it glibc may ask DNS before the hosts file.
  { kind: "file", path: "etc/nsswitch.conf", content: "hosts: files dns\n" },
  {
    kind: "file",
    path: "etc/os-release",
    content: 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nNAME="Debian GNU/Linux"\nVERSION_ID="12"\nID=debian\n',
  },
];

/** Mount points have to exist already where the root is read-only. */
const FOLDERS: readonly TarEntry[] = [
  ...["dev", "proc", "sys", "run", "root", "usr/local/bin"].map((path): TarEntry => ({ kind: "directory", path })),
  { kind: "directory", path: "tmp", mode: 0o1777 },
  { kind: "directory", path: `home/${USER.name}`, mode: 0o700, uid: USER.id, gid: USER.id },
];

function withParents(entries: readonly TarEntry[]): TarEntry[] {
  const named = new Set(entries.map(({ path }) => path));
  const parents = new Set(entries.flatMap(({ path }) => ancestors(path)).filter((path) => !named.has(path)));
  return [...entries, ...[...parents].map((path): TarEntry => ({ kind: "directory", path }))];
}

function ancestors(path: string): string[] {
  const parts = path.split("/").slice(0, -1);
  return parts.map((_, depth) => parts.slice(0, depth + 1).join("/"));
}
