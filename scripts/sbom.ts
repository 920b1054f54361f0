/**
 * The bill of materials of an image (CycloneDX 1.6): the npm packages that the bundler really took into the binary,
 * the Bun runtime it is compiled with, and the Debian packages of the base layer. The same input gives the same bytes.
 */
import { join } from "node:path";
import * as v from "valibot";
import type { UnpackedPackage } from "../images/base.ts";
import { ROOT, Trouble } from "./lib.ts";

const LockEntry = v.object({
  version: v.optional(v.string()),
  license: v.optional(v.string()),
  integrity: v.optional(v.string()),
});
const Lockfile = v.object({ packages: v.record(v.string(), LockEntry) });
export type Lockfile = v.InferOutput<typeof Lockfile>;

export async function readLockfile(): Promise<Lockfile> {
  return v.parse(Lockfile, await Bun.file(join(ROOT, "package-lock.json")).json());
}

/** What the bundler says it read: every file, and what each file imports. */
export interface BundleInputs {
  readonly [file: string]: { readonly imports: readonly { readonly path: string }[] };
}

/** Our own code stands under the empty name; a package under its place in the lockfile. */
export type PackageGraph = ReadonlyMap<string, ReadonlySet<string>>;

export async function bundleInputs(entry: string): Promise<BundleInputs> {
  const built = await Bun.build({
    entrypoints: [join(ROOT, entry)],
    root: ROOT,
    target: "bun",
    define: { "process.env.NODE_ENV": '"production"' },
    metafile: true,
  });
  if (built.metafile === undefined) throw new Trouble(`the bundler did not say what ${entry} is made of`);
  return built.metafile.inputs;
}

export function packageGraph(inputs: BundleInputs): PackageGraph {
  const graph = new Map<string, Set<string>>();
  for (const [file, { imports }] of Object.entries(inputs)) {
    const from = packageOf(file);
    const uses = graph.get(from) ?? new Set();
    for (const { path } of imports) {
      // Built-in modules are imported too; they are no files of the bundle.
      if (path in inputs && packageOf(path) !== from) uses.add(packageOf(path));
    }
    graph.set(from, uses);
  }
  return graph;
}

/** "…/node_modules/a/node_modules/@b/c/x.js" is of the lockfile's "node_modules/a/node_modules/@b/c". */
function packageOf(file: string): string {
  return /(?<=^|\/)node_modules\/(?:.*\/node_modules\/)?(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? "";
}

export type SbomDebianPackage = Pick<UnpackedPackage, "name" | "version" | "architecture" | "sha256" | "license">;

export interface SbomRequest {
  readonly name: string;
  readonly version: string;
  readonly graph: PackageGraph;
  readonly lockfile: Lockfile;
  /** The npm package that carries the runtime. */
  readonly runtime: string;
  readonly debian: readonly SbomDebianPackage[];
}

interface Component {
  readonly type: string;
  readonly "bom-ref": string;
  readonly group?: string;
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly licenses?: readonly object[];
  readonly hashes?: readonly object[];
}

export function sbom({ name, version, graph, lockfile, runtime, debian }: SbomRequest): string {
  const root = `pkg:oci/${name}@${version}`;
  const npm = new Map(
    [...graph.keys()].filter((key) => key !== "").map((key) => [key, npmComponent(key, lockfile, "library")]),
  );
  const bun = npmComponent(`node_modules/${runtime}`, lockfile, "platform");
  const system = debian.map(debianComponent);
  const refs = (keys: ReadonlySet<string>) => byCode([...keys].flatMap((key) => npm.get(key)?.["bom-ref"] ?? []));
  const below = byCode([...refs(graph.get("") ?? new Set()), ...[bun, ...system].map((part) => part["bom-ref"])]);
  const document = {
    $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: {
      component: { type: "container", "bom-ref": root, name, version, licenses: licensesOf("Apache-2.0") },
    },
    components: [...npm.values(), bun, ...system].toSorted((a, b) => (a["bom-ref"] < b["bom-ref"] ? -1 : 1)),
    dependencies: [
      { ref: root, dependsOn: below },
      ...[...npm]
        .map(([key, { "bom-ref": ref }]) => ({ ref, dependsOn: refs(graph.get(key) ?? new Set()) }))
        .toSorted((a, b) => (a.ref < b.ref ? -1 : 1)),
    ],
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}

function npmComponent(key: string, lockfile: Lockfile, type: string): Component {
  const full = key.slice(key.lastIndexOf("node_modules/") + "node_modules/".length);
  const { version, license, integrity } = lockfile.packages[key] ?? {};
  if (version === undefined) throw new Trouble(`${full} is used but package-lock.json has no ${key}; run npm ci`);
  const [name, group] = full.split("/").toReversed();
  const purl = `pkg:npm/${full.replace("@", "%40")}@${version}`;
  return {
    type,
    "bom-ref": purl,
    ...(group === undefined ? {} : { group }),
    name: name ?? full,
    version,
    purl,
    ...(license === undefined ? {} : { licenses: licensesOf(license) }),
    ...(integrity === undefined ? {} : { hashes: [integrityHash(integrity)] }),
  };
}

function debianComponent({ name, version, architecture, sha256, license }: SbomDebianPackage): Component {
  const purl = `pkg:deb/debian/${name}@${encodeURIComponent(version)}?arch=${architecture}&distro=debian-12`;
  const hashes = [{ alg: "SHA-256", content: sha256 }];
  return { type: "library", "bom-ref": purl, name, version, purl, licenses: licensesOf(license), hashes };
}

/** One SPDX id, or an expression of several. */
function licensesOf(license: string): object[] {
  return /^[\w.+-]+$/.test(license) ? [{ license: { id: license } }] : [{ expression: license }];
}

/** npm writes "sha512-BASE64", CycloneDX wants hexadecimal. */
function integrityHash(integrity: string): object {
  const [algorithm = "", base64 = ""] = integrity.split("-", 2);
  const alg = algorithm.toUpperCase().replace("SHA", "SHA-");
  return { alg, content: Buffer.from(base64, "base64").toString("hex") };
}

function byCode(values: readonly string[]): string[] {
  return [...new Set(values)].toSorted((a, b) => (a < b ? -1 : 1));
}
