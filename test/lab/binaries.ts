/**
 * The programs a lab is made of, compiled once from the Go module proxy and kept outside the checkout, one folder per
 * version and source. go.mod and go.sum beside the sources pin every module.
 */
import { mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { cacheHome } from "../../scripts/build.ts";
import { ROOT, run, step, Trouble } from "../../scripts/lib.ts";

const SOURCES = join(ROOT, "test/lab/go");

interface Program {
  readonly folder: string;
  /** The module whose version names the program's version. */
  readonly module?: string;
  readonly packages: readonly string[];
  readonly flags: (version: string) => readonly string[];
  readonly makes: readonly string[];
}

const CONTAINERD = "github.com/containerd/containerd/v2";
const STATIC = { CGO_ENABLED: "0", GOFLAGS: "-buildvcs=false", GOTOOLCHAIN: "local" };

const PROGRAMS = {
  kube: {
    folder: "kube",
    module: "k8s.io/kubernetes",
    packages: ["."],
    makes: ["kube"],
    flags: (version) => {
      const [major, minor] = version.slice(1).split(".");
      const set = (name: string, value = "") => `-X k8s.io/component-base/version.git${name}=${value}`;
      return [`-ldflags=-s -w ${set("Version", version)} ${set("Major", major)} ${set("Minor", minor)}`];
    },
  },
  containerd: {
    folder: "containerd",
    module: CONTAINERD,
    packages: ["containerd", "containerd-shim-runc-v2", "ctr"].map((name) => `${CONTAINERD}/cmd/${name}`),
    makes: ["containerd", "containerd-shim-runc-v2", "ctr"],
    flags: () => ["-ldflags=-s -w", "-tags=no_btrfs no_zfs no_devmapper no_aufs"],
  },
  coredns: {
    folder: "coredns",
    module: "github.com/coredns/coredns",
    packages: ["."],
    makes: ["coredns"],
    flags: () => ["-ldflags=-s -w"],
  },
  pause: { folder: "pause", packages: ["."], makes: ["pause"], flags: () => ["-ldflags=-s -w"] },
} satisfies Record<string, Program>;

/** The programs that the one `kube` binary is, by the name it is started under. */
export const KUBE_PROGRAMS = [
  "etcd",
  "kube-apiserver",
  "kube-controller-manager",
  "kube-scheduler",
  "kube-proxy",
  "kubelet",
  "kubectl",
] as const;

/** A folder with every program of the lab under its own name. Builds what is missing: minutes the first time. */
export async function ensureBinaries(): Promise<string> {
  const folders = new Map<string, string>();
  for (const [name, program] of Object.entries(PROGRAMS)) folders.set(name, await ensureProgram(program));
  return linkTogether(folders);
}

/** kubectl of the lab's Kubernetes version. */
export async function ensureKubectl(): Promise<string> {
  const link = join(cacheHome(), "lab", "kubectl");
  const folder = await ensureProgram(PROGRAMS.kube);
  await run(["ln", "-sfn", join(folder, "kube"), link]);
  return link;
}

/** The same when it has been compiled already; nothing is compiled for it. */
export async function builtKubectl(): Promise<string | undefined> {
  return (await isBuilt(await placeOf(PROGRAMS.kube))) ? ensureKubectl() : undefined;
}

interface Place {
  readonly version: string;
  readonly label: string;
  readonly folder: string;
}

async function placeOf(program: Program): Promise<Place> {
  const version = program.module === undefined ? "v1" : await moduleVersion(program.folder, program.module);
  const label = `${program.folder}-${version}`;
  const folder = join(cacheHome(), "lab", `${label}-${process.arch}-${await sourceHash(program.folder)}`);
  return { version, label, folder };
}

function isBuilt({ folder }: Place): Promise<boolean> {
  return Bun.file(join(folder, "done")).exists();
}

async function ensureProgram(program: Program): Promise<string> {
  const place = await placeOf(program);
  const { version, label, folder } = place;
  if (await isBuilt(place)) return folder;
  await requireGo();
  const scratch = `${folder}.${process.pid}`;
  await rm(scratch, { recursive: true, force: true });
  await mkdir(scratch, { recursive: true });
  const flags = program.flags(version);
  await step(`compile ${label} (kept for next time)`, () =>
    run(["go", "build", "-trimpath", ...flags, "-o", `${scratch}/`, ...program.packages], {
      cwd: join(SOURCES, program.folder),
      env: STATIC,
    }),
  );
  await Bun.write(join(scratch, "done"), "");
  await rm(folder, { recursive: true, force: true });
  await rename(scratch, folder);
  return folder;
}

async function requireGo(): Promise<void> {
  const version = await run(["go", "env", "GOVERSION"]).catch(() => "");
  if (Bun.semver.satisfies(version.trim().replace(/^go/, ""), ">=1.26.0")) return;
  const found = version === "" ? "none is on the PATH" : `found ${version.trim()}`;
  throw new Trouble(
    `the lab's Kubernetes is compiled with Go 1.26 or newer; ${found}. Install it from your package manager`,
  );
}

async function moduleVersion(folder: string, module: string): Promise<string> {
  const text = await Bun.file(join(SOURCES, folder, "go.mod")).text();
  const found = text.split("\n").find((line) =>
    line
      .trim()
      .replace(/^require /, "")
      .startsWith(`${module} `),
  );
  const version = found
    ?.trim()
    .split(" ")
    .at(found.trim().startsWith("require") ? 2 : 1);
  if (version === undefined) throw new Trouble(`test/lab/go/${folder}/go.mod does not name ${module}`);
  return version;
}

async function sourceHash(folder: string): Promise<string> {
  const hash = new Bun.CryptoHasher("sha256");
  for (const file of [...new Bun.Glob("*").scanSync({ cwd: join(SOURCES, folder) })].toSorted()) {
    hash.update(file).update(await Bun.file(join(SOURCES, folder, file)).arrayBuffer());
  }
  return hash.digest("hex").slice(0, 12);
}

/** One folder of links, named after what it links to, so that two versions of the lab never mix. */
async function linkTogether(folders: ReadonlyMap<string, string>): Promise<string> {
  const key = Bun.hash([...folders.values()].join("\n")).toString(36);
  const bin = join(cacheHome(), "lab", `bin-${key}`);
  await mkdir(bin, { recursive: true });
  const kube = folders.get("kube") ?? "";
  for (const name of KUBE_PROGRAMS) await run(["ln", "-sfn", join(kube, "kube"), join(bin, name)]);
  for (const [name, program] of Object.entries(PROGRAMS)) {
    if (name === "kube") continue;
    for (const made of program.makes) await run(["ln", "-sfn", join(folders.get(name) ?? "", made), join(bin, made)]);
  }
  return bin;
}
