/**
 * npm run build [-- --all]
 *
 * Compiles the three binaries into dist/. Without a flag for this machine only; with --all for every platform we ship.
 * The same commit gives the same bytes, wherever and whenever it is built.
 */
import { mkdir, rename, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { DIST, main, ROOT, run, step, Trouble } from "./lib.ts";
import { ensureFolder, withScratch } from "./scratch.ts";

export const BINARIES = {
  "valkey-operator": "cmd/operator/main.ts",
  "valkey-sidecar": "cmd/sidecar/main.ts",
  "kubectl-valkey": "plugin/main.ts",
} as const;
export type Binary = keyof typeof BINARIES;

/** Bun's target name and the npm package that carries its runtime. */
const TARGETS = {
  "linux-x64": { bun: "bun-linux-x64", runtime: "@oven/bun-linux-x64" },
  "linux-arm64": { bun: "bun-linux-arm64", runtime: "@oven/bun-linux-aarch64" },
  "darwin-x64": { bun: "bun-darwin-x64", runtime: "@oven/bun-darwin-x64" },
  "darwin-arm64": { bun: "bun-darwin-arm64", runtime: "@oven/bun-darwin-aarch64" },
} as const;
export type Target = keyof typeof TARGETS;

const SHIPPED: Record<Binary, readonly Target[]> = {
  "valkey-operator": ["linux-x64", "linux-arm64"],
  "valkey-sidecar": ["linux-x64", "linux-arm64"],
  "kubectl-valkey": ["linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64"],
};

export interface CompileRequest {
  readonly entry: string;
  readonly outfile: string;
  /** Defaults to this machine. */
  readonly target?: Target;
}

/**
 * Class names survive because only white space and syntax are minified; --splitting lets a start load only the code it
 * needs; the autoload flags keep a .env or bunfig.toml in the working directory from changing what the program does.
 */
export async function compile({ entry, outfile, target }: CompileRequest): Promise<void> {
  const flags = [
    "--compile",
    "--minify-whitespace",
    "--minify-syntax",
    "--bytecode",
    "--format=esm",
    "--sourcemap",
    "--splitting",
  ];
  const autoload = ["--no-compile-autoload-dotenv", "--no-compile-autoload-bunfig"];
  const defines = Object.entries(await buildDefines()).flatMap(([key, value]) => [
    "--define",
    `${key}=${JSON.stringify(value)}`,
  ]);
  const cross = target === undefined || target === hostTarget() ? [] : await crossFlags(target);
  await withScratch(outfile, async (scratch) => {
    const out = join(scratch, "binary");
    await run([process.execPath, "build", ...flags, ...autoload, ...defines, ...cross, entry, "--outfile", out]);
    await rename(out, outfile);
  });
}

async function buildDefines(): Promise<Record<string, string>> {
  const { version } = (await Bun.file(join(ROOT, "package.json")).json()) as { version: string };
  return {
    "process.env.NODE_ENV": "production",
    BUILD_VERSION: version,
    BUILD_COMMIT: await commit(),
    // CommonJS packages would carry the folder they were built in: it means nothing elsewhere and changes the bytes.
    __dirname: "/",
    __filename: "/",
  };
}

/** The commit this tree stands on, with a mark when the tree differs from it. */
export async function commit(): Promise<string> {
  const given = process.env["BUILD_COMMIT"];
  if (given !== undefined) return given;
  try {
    const head = (await run(["git", "rev-parse", "--short=12", "HEAD"])).trim();
    const changed = (await run(["git", "status", "--porcelain"])).trim();
    return changed === "" ? head : `${head}-changed`;
  } catch {
    return "unknown";
  }
}

export function hostTarget(): Target {
  const name = `${process.platform}-${process.arch}`;
  if (name in TARGETS) return name as Target;
  throw new Trouble(`no binaries are built for ${name}; known are ${Object.keys(TARGETS).join(", ")}`);
}

/** The runtime of another platform comes from npm, like our own, and is kept outside the checkout. */
async function crossFlags(target: Target): Promise<string[]> {
  const { bun, runtime } = TARGETS[target];
  const home = join(cacheHome(), "bun", `${bun}-${Bun.version}`);
  await ensureFolder(home, async (folder) => {
    const pack = ["npm", "pack", "--silent", "--pack-destination", folder, `${runtime}@${Bun.version}`];
    const packed = join(folder, (await run(pack)).trim());
    await run(["tar", "-xzf", packed, "-C", folder]);
    await rm(packed);
  });
  return [`--target=${bun}`, `--compile-executable-path=${join(home, "package/bin/bun")}`];
}

/** A relative or empty XDG_CACHE_HOME counts as none, as its specification says. */
export function cacheHome(): string {
  const given = process.env["XDG_CACHE_HOME"] ?? "";
  return join(isAbsolute(given) ? given : join(homedir(), ".cache"), "valkey-operator");
}

/** For this machine `dist/NAME`; for a platform we ship `dist/NAME-PLATFORM`. */
async function buildAll(all: boolean): Promise<void> {
  await mkdir(DIST, { recursive: true });
  for (const name of Object.keys(BINARIES) as Binary[]) {
    await build(name);
    if (!all) continue;
    for (const target of SHIPPED[name]) {
      const outfile = join(DIST, `${name}-${target}`);
      await step(`dist/${name}-${target}`, () => compile({ entry: BINARIES[name], outfile, target }));
    }
  }
}

export async function build(name: Binary): Promise<string> {
  const outfile = join(DIST, name);
  await mkdir(DIST, { recursive: true });
  await step(`dist/${name}`, () => compile({ entry: BINARIES[name], outfile }));
  return outfile;
}

if (import.meta.main) {
  await main(
    async () => {
      const unknown = process.argv.slice(2).filter((flag) => flag !== "--all");
      if (unknown.length > 0)
        throw new Trouble(`unknown argument ${unknown.join(" ")}; usage: npm run build [-- --all]`);
      await buildAll(process.argv.includes("--all"));
    },
    import.meta.path,
  );
}
