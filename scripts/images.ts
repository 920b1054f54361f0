/**
 * npm run images [-- operator|sidecar] [--prefix HOST/PATH] [--arch amd64|arm64]
 *
 * Makes the container images as OCI archives in dist/images, without Docker or a registry, and beside each its bill of
 * materials. The same commit gives the same bytes. An image whose inputs have not changed is left as it is.
 */
import { mkdir } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { baseLayer, type UnpackedPackage } from "../images/base.ts";
import { IMAGES, type ImageFile, type ImageId, type ImageSpec, labels, type Release, USER } from "../images/files.ts";
import { inputsHash, isFresh, stamp } from "../images/stamp.ts";
import { BINARIES, type Binary, build, commit, compile, hostTarget, type Target } from "./build.ts";
import { DIST, main, ROOT, step, Trouble } from "./lib.ts";
import { type Architecture, type TarEntry, writeImage } from "./oci.ts";
import { type BundleInputs, bundleInputs, packageGraph, readLockfile, sbom } from "./sbom.ts";

export interface ImagesOptions {
  /** Defaults to all. */
  readonly only?: readonly ImageId[];
  /** What stands before the image's own name. Defaults to "localhost". */
  readonly prefix?: string;
  /** Defaults to this machine's. */
  readonly architecture?: Architecture;
  /** Where the archives go. Defaults to dist/images. */
  readonly outdir?: string;
}

export interface BuiltImage {
  readonly id: ImageId;
  /** As a pod names it. */
  readonly name: string;
  readonly file: string;
  readonly sbom: string;
}

const TARGET: Record<Architecture, Target> = { amd64: "linux-x64", arm64: "linux-arm64" };
const RUNTIME: Record<Architecture, string> = { amd64: "@oven/bun-linux-x64", arm64: "@oven/bun-linux-aarch64" };
const HOST: Architecture = process.arch === "arm64" ? "arm64" : "amd64";

export async function buildImages(options: ImagesOptions = {}): Promise<BuiltImage[]> {
  const release = await currentRelease();
  const built: BuiltImage[] = [];
  for (const spec of IMAGES) {
    if (options.only?.includes(spec.id) ?? true) built.push(await buildImage(spec, release, options));
  }
  return built;
}

/** The version of package.json, and where it says the source is. */
export async function currentRelease(): Promise<Release> {
  const { version, repository } = (await Bun.file(join(ROOT, "package.json")).json()) as {
    version: string;
    repository?: { url: string };
  };
  const revision = await commit();
  return repository === undefined ? { version, revision } : { version, revision, source: repository.url };
}

async function buildImage(spec: ImageSpec, release: Release, options: ImagesOptions): Promise<BuiltImage> {
  const { prefix = "localhost", architecture = HOST, outdir = join(DIST, "images") } = options;
  const file = join(outdir, `${spec.repository}${architecture === HOST ? "" : `-${architecture}`}.oci`);
  const name = `${prefix}/${spec.repository}:${release.version}`;
  const image: BuiltImage = { id: spec.id, name, file, sbom: file.replace(/oci$/, "cdx.json") };
  const bundled = await bundleInputs(BINARIES[spec.binary]);
  const base = await baseLayer(architecture);
  const inputs = await inputsOf(spec, bundled, { release, image, architecture, base: base.tar });
  const marker = file.replace(/oci$/, "stamp");
  if (await isFresh(marker, inputs)) {
    process.stderr.write(`- ${name} is up to date\n`);
    return image;
  }
  await mkdir(outdir, { recursive: true });
  const binary = await binaryFor(spec.binary, TARGET[architecture]);
  await step(name, async () => {
    await Bun.write(image.sbom, await billOf(spec, bundled, { release, architecture, debian: base.packages }));
    await writeImage({
      outfile: file,
      name,
      layers: [{ tar: base.tar }, { entries: spec.files.map((entry) => tarEntry(entry, binary)) }],
      config: {
        architecture,
        entrypoint: spec.entrypoint,
        user: `${USER.id}:${USER.id}`,
        workingDir: "/",
        env: { PATH: "/usr/local/bin", ...spec.env },
        labels: labels(spec, release),
      },
    });
  });
  await stamp(marker, inputs, [file, image.sbom]);
  return image;
}

/** Everything that can change the image: its sources, the programs that make it, and what they are told. */
async function inputsOf(spec: ImageSpec, bundled: BundleInputs, told: object): Promise<string> {
  const makers = [...new Bun.Glob("{images,scripts}/*.ts").scanSync({ cwd: ROOT })];
  const fixed = spec.files.map(({ from }) => from).filter((from) => !isBuilt(from));
  // The bundler names files from the working directory.
  const sources = Object.keys(bundled).map((path) => relative(ROOT, resolve(path)));
  const epoch = process.env["SOURCE_DATE_EPOCH"];
  return inputsHash([...sources, ...makers, ...fixed, "package-lock.json"], {
    told,
    epoch,
    bun: Bun.version,
  });
}

function isBuilt(from: string): boolean {
  return from.startsWith("dist/");
}

function tarEntry({ from, to, mode }: ImageFile, binary: string): TarEntry {
  return { kind: "copy", path: to, mode, source: isBuilt(from) ? binary : join(ROOT, from) };
}

async function binaryFor(name: Binary, target: Target): Promise<string> {
  if (target === hostTarget()) return build(name);
  const outfile = join(DIST, `${name}-${target}`);
  await step(`dist/${name}-${target}`, () => compile({ entry: BINARIES[name], outfile, target }));
  return outfile;
}

interface BillOptions {
  readonly release: Release;
  readonly architecture: Architecture;
  readonly debian: readonly UnpackedPackage[];
}

async function billOf(spec: ImageSpec, bundled: BundleInputs, options: BillOptions): Promise<string> {
  const { release, architecture, debian } = options;
  return sbom({
    name: spec.repository,
    version: release.version,
    graph: packageGraph(bundled),
    lockfile: await readLockfile(),
    runtime: RUNTIME[architecture],
    debian,
  });
}

const USAGE = "usage: npm run images [-- operator|sidecar] [--prefix HOST/PATH] [--arch amd64|arm64]";

export function parseOptions(args: readonly string[]): ImagesOptions {
  const { values, positionals } = parse(args);
  const only = positionals.map((word) => {
    const spec = IMAGES.find(({ id }) => id === word);
    if (spec === undefined) throw new Trouble(`there is no image "${word}"; ${USAGE}`);
    return spec.id;
  });
  const { prefix, arch } = values;
  if (arch !== undefined && arch !== "amd64" && arch !== "arm64") {
    throw new Trouble(`there are no images for "${arch}"; ${USAGE}`);
  }
  return {
    ...(only.length === 0 ? {} : { only }),
    ...(prefix === undefined ? {} : { prefix: prefix.replace(/\/+$/, "") }),
    ...(arch === undefined ? {} : { architecture: arch }),
  };
}

function parse(args: readonly string[]) {
  try {
    const options = { prefix: { type: "string" }, arch: { type: "string" } } as const;
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (cause) {
    throw new Trouble(`${cause instanceof Error ? cause.message : String(cause)}; ${USAGE}`);
  }
}

if (import.meta.main) {
  await main(
    async () => {
      for (const { name, file, sbom } of await buildImages(parseOptions(process.argv.slice(2)))) {
        process.stdout.write(`${name}\n  ${file}\n  ${sbom}\n`);
      }
    },
    import.meta.path,
  );
}
