/**
 * Packages of a Debian suite, unpacked once and kept in the cache: as a folder, and as an archive that can be a layer
 * of an image. apt finds the newest versions and checks the signatures. Nothing is installed on the machine and no
 * program of a package runs, so packages of another architecture can be unpacked too.
 */
import { mkdir, readdir, rm, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import * as v from "valibot";
import { aptInstall } from "./apt.ts";
import { DebianPackage, describePackage } from "./debian-package.ts";
import { run, step, Trouble } from "./lib.ts";
import type { Architecture } from "./oci.ts";
import { ensureFolder, exists } from "./scratch.ts";

export interface DebianRecipe {
  readonly suite: string;
  /** What they depend on is unpacked with them. */
  readonly packages: readonly string[];
  /** Defaults to this machine's. */
  readonly architecture?: Architecture;
  /** How the version of a package has to begin. Defaults to whatever the suite has. */
  readonly versions?: Readonly<Record<string, string>>;
  /** Paths that are not wanted, as tar patterns that begin with "./". Defaults to none. */
  readonly without?: readonly string[];
}

export interface RootFs {
  /** The folder that holds the unpacked packages. */
  readonly root: string;
  /** The same as one archive with root as owner: a layer of an image. It has the links of a merged /usr. */
  readonly tar: string;
}

/** What a container brings itself, and what names the machine that made the root. */
const OF_THIS_MACHINE = [
  "./dev/*",
  "./etc/apt",
  "./etc/hostname",
  "./etc/resolv.conf",
  "./var/cache/*",
  "./var/lib/apt",
];

/** Makes the folder `home` when it is not there yet. Any number of processes may ask at once. */
export async function ensureRoot(home: string, recipe: DebianRecipe): Promise<RootFs> {
  if (!(await exists(home))) {
    await step(`${recipe.packages.join(", ")} from Debian ${recipe.suite}`, async () => {
      await ensureMmdebstrap();
      await ensureFolder(home, (folder) => unpack(folder, recipe));
    });
  }
  return { root: join(home, "root"), tar: join(home, "root.tar") };
}

/** The packages that the recipe of a root named, as they were unpacked. */
export async function packagesOf({ root }: RootFs): Promise<DebianPackage[]> {
  return v.parse(v.array(DebianPackage), await Bun.file(join(dirname(root), "packages.json")).json());
}

async function unpack(folder: string, recipe: DebianRecipe): Promise<void> {
  const packed = join(folder, "packed.tar");
  const debs = join(folder, "debs");
  const root = join(folder, "root");
  await mkdir(debs);
  await mkdir(root);
  await run(mmdebstrap(recipe, packed), { env: { KEEP_DEBS: debs } });
  const packages = await describe(debs, recipe);
  await Bun.write(join(folder, "packages.json"), `${JSON.stringify(packages, null, 2)}\n`);
  const without = [...OF_THIS_MACHINE, ...(recipe.without ?? [])].map((path) => `--exclude=${path}`);
  await run(["tar", "-xpf", packed, "-C", root, "--no-same-owner", ...without]);
  await rm(packed);
  await rm(debs, { recursive: true });
  await linkMergedUsr(root);
  const reproducible = ["--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner"];
  await run(["tar", "-cf", join(folder, "root.tar"), ...reproducible, "-C", root, "."]);
}

export function mmdebstrap(recipe: DebianRecipe, outfile: string): string[] {
  return [
    "mmdebstrap",
    // Unpacking alone needs neither root nor a user namespace; mmdebstrap guards that mode when root asks for it.
    `--mode=${isRoot() ? "root" : "chrootless"}`,
    "--variant=extract",
    ...(recipe.architecture === undefined ? [] : [`--architectures=${recipe.architecture}`]),
    // A mirror may serve a Release file of sid that is past its date.
    '--aptopt=Acquire::Check-Valid-Until "false"',
    '--aptopt=Acquire::Retries "3"',
    // It removes the archives when it has unpacked them, and with them what the packages say of themselves.
    '--extract-hook=cp "$1"/var/cache/apt/archives/*.deb "$KEEP_DEBS"',
    `--include=${recipe.packages.join(",")}`,
    recipe.suite,
    outfile,
  ];
}

async function describe(debs: string, recipe: DebianRecipe): Promise<DebianPackage[]> {
  const archives = await readdir(debs);
  const described: DebianPackage[] = [];
  for (const name of recipe.packages) {
    const archive = archives.find((file) => file.startsWith(`${name}_`));
    if (archive === undefined) throw new Trouble(`Debian ${recipe.suite} gave no ${name}, only ${archives.join(", ")}`);
    const found = await describePackage(join(debs, archive));
    checkVersion(found, recipe);
    described.push(found);
  }
  return described;
}

/** Suites move on: better to hear of it here than from whoever meets another version than the one asked for. */
export function checkVersion({ name, version }: DebianPackage, { suite, versions }: DebianRecipe): void {
  const wanted = versions?.[name] ?? "";
  // An epoch counts changes of a package's numbering; it is no part of the program's version.
  if (version.replace(/^\d+:/, "").startsWith(wanted)) return;
  throw new Trouble(`Debian ${suite} now has ${name} ${version}, asked for was ${wanted}x`);
}

/** Unpacking leaves out the links that a package's script would make. */
async function linkMergedUsr(root: string): Promise<void> {
  for (const name of ["bin", "lib", "lib64", "sbin"]) {
    const missing = !(await exists(join(root, name)));
    if (missing && (await exists(join(root, "usr", name)))) await symlink(join("usr", name), join(root, name));
  }
}

async function ensureMmdebstrap(): Promise<void> {
  if (Bun.which("mmdebstrap") !== null) return;
  const how = "apt-get install mmdebstrap debian-archive-keyring";
  if (!isRoot() || Bun.which("apt-get") === null) {
    throw new Trouble(`mmdebstrap is needed to unpack Debian packages and is not here; install it: ${how}`);
  }
  await step("apt-get install mmdebstrap", () => aptInstall(["mmdebstrap", "debian-archive-keyring"]));
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}
