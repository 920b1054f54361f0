/**
 * Valkey as Debian builds it: the root file system of each version that we serve, made once and kept in the cache. The
 * lab makes its images from the archive; tests run the server straight from the folder, without any privilege.
 */
import { join } from "node:path";
import { cacheHome } from "../../scripts/build.ts";
import { type DebianRecipe, ensureRoot, type RootFs } from "../../scripts/debian.ts";

export type { RootFs } from "../../scripts/debian.ts";

export const VALKEY_VERSIONS = ["8.1", "9.1"] as const;
export type ValkeyVersion = (typeof VALKEY_VERSIONS)[number];

/** What nobody reads in a container. */
const UNREAD = ["./usr/share/doc", "./usr/share/locale", "./usr/share/man"];

const VALKEY_PACKAGES = ["valkey-server", "valkey-tools", "valkey-sentinel"];
const SUITES: Record<ValkeyVersion, string> = { "8.1": "trixie", "9.1": "sid" };
const EXPORTER: DebianRecipe = { suite: "trixie", packages: ["prometheus-redis-exporter"], without: UNREAD };

/** The root of valkey-server, valkey-cli and valkey-sentinel. */
export function ensureValkey(version: ValkeyVersion): Promise<RootFs> {
  return ensureRoot(homeOf(version), {
    suite: SUITES[version],
    packages: VALKEY_PACKAGES,
    versions: { "valkey-server": `${version}.` },
    without: UNREAD,
  });
}

/** The root of the metrics exporter that users run beside Valkey; the program is /usr/bin/prometheus-redis-exporter. */
export function ensureExporter(): Promise<RootFs> {
  return ensureRoot(homeOf("exporter"), EXPORTER);
}

/** All of them, so that nothing that is in a hurry later has to wait for one. */
export async function ensureServers(): Promise<readonly RootFs[]> {
  const roots: RootFs[] = [];
  for (const version of VALKEY_VERSIONS) roots.push(await ensureValkey(version));
  return [...roots, await ensureExporter()];
}

function homeOf(name: string): string {
  return join(cacheHome(), "valkey", `${name}-${process.arch}`);
}

/**
 * The command line that runs a program of a root on this machine, whatever C library the machine has: through the
 * root's own loader. Works without any privilege.
 */
export function command(root: string, program: string): string[] {
  const [triplet, loader] =
    process.arch === "arm64"
      ? ["aarch64-linux-gnu", "ld-linux-aarch64.so.1"]
      : ["x86_64-linux-gnu", "ld-linux-x86-64.so.2"];
  const libraries = join(root, "usr/lib", triplet);
  const executable = join(root, "usr/bin", program);
  return [join(libraries, loader), "--library-path", libraries, "--argv0", program, executable];
}

if (import.meta.main) for (const root of await ensureServers()) console.log(root);
