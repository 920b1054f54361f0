/**
 * Writes container images as OCI archives, without a daemon, a registry or a tool: a tar of JSON and layers that
 * `ctr image import`, `podman load`, `skopeo copy oci-archive:` and `docker load` take. The same layers and config give
 * the same bytes on every machine.
 */
import { Trouble } from "./lib.ts";
import { readPieces, type TarEntry, tar, writeTar } from "./oci-tar.ts";

export type { TarEntry } from "./oci-tar.ts";

/** A list of files, or a tar that exists already (taken as it is). */
export type Layer = { readonly entries: readonly TarEntry[] } | { readonly tar: string };

export interface ImageConfig {
  /** Defaults to this machine's. */
  readonly architecture?: Architecture;
  readonly entrypoint?: readonly string[];
  readonly cmd?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** As in the image format: "uid", "uid:gid" or a name. */
  readonly user?: string;
  readonly workingDir?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** "8080/tcp". */
  readonly exposedPorts?: readonly string[];
}
export type Architecture = "amd64" | "arm64";

export interface ImageRequest {
  readonly outfile: string;
  /** Full name with tag, as a pod names it: "localhost/valkey-operator:0.1.0". */
  readonly name: string;
  /** The lowest first. */
  readonly layers: readonly Layer[];
  readonly config?: ImageConfig;
}

export interface WrittenImage {
  readonly name: string;
  readonly file: string;
  /** Of the manifest: what a registry would call the image's digest. */
  readonly digest: string;
}

export async function writeImage({ outfile, name, layers, config = {} }: ImageRequest): Promise<WrittenImage> {
  const tag = tagOf(name);
  const packed = await Promise.all(layers.map(describeLayer));
  const configBlob = jsonBlob(CONFIG_TYPE, configDocument(config, packed));
  const manifest = jsonBlob(MANIFEST_TYPE, {
    schemaVersion: 2,
    mediaType: MANIFEST_TYPE,
    config: configBlob.descriptor,
    layers: packed.map(({ descriptor }) => descriptor),
  });
  const index = {
    schemaVersion: 2,
    mediaType: "application/vnd.oci.image.index.v1+json",
    manifests: [
      {
        ...manifest.descriptor,
        platform: { architecture: architectureOf(config), os: "linux" },
        annotations: { "io.containerd.image.name": name, "org.opencontainers.image.ref.name": tag },
      },
    ],
  };
  await writeTar(outfile, archive([configBlob, manifest, ...packed], index));
  return { name, file: outfile, digest: manifest.descriptor.digest };
}

const CONFIG_TYPE = "application/vnd.oci.image.config.v1+json";
const MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json";
const LAYER_TYPE = "application/vnd.oci.image.layer.v1.tar";

interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

/** Something the archive holds under its digest; its bytes can be read as often as they are needed. */
interface Blob {
  readonly descriptor: Descriptor;
  readonly bytes: () => AsyncIterable<Uint8Array>;
}

function tagOf(name: string): string {
  const tag = /^[a-z0-9.-]+(?::\d+)?(?:\/[a-z0-9._-]+)+:([\w][\w.-]{0,127})$/.exec(name)?.[1];
  if (tag === undefined) throw new Trouble(`"${name}" is no full image name; it has to look like host/name:tag`);
  return tag;
}

/**
 * Layers are read twice, once for the digest that names them and once into the archive: that costs a second read from
 * the page cache, where a scratch file would cost a write.
 */
async function describeLayer(layer: Layer): Promise<Blob> {
  const bytes = () => ("tar" in layer ? readPieces(layer.tar) : tar(layer.entries));
  const hash = new Bun.CryptoHasher("sha256");
  let size = 0;
  for await (const piece of bytes()) {
    hash.update(piece);
    size += piece.length;
  }
  return { descriptor: { mediaType: LAYER_TYPE, digest: `sha256:${hash.digest("hex")}`, size }, bytes };
}

function jsonBlob(mediaType: string, document: object): Blob {
  const content = Buffer.from(JSON.stringify(document));
  const digest = `sha256:${new Bun.CryptoHasher("sha256").update(content).digest("hex")}`;
  return {
    descriptor: { mediaType, digest, size: content.length },
    bytes: async function* () {
      yield content;
    },
  };
}

function configDocument(config: ImageConfig, layers: readonly Blob[]): object {
  const created = createdAt();
  const { env = {}, exposedPorts } = config;
  return {
    created,
    architecture: architectureOf(config),
    os: "linux",
    // JSON leaves out what is undefined.
    config: {
      User: config.user,
      ExposedPorts: exposedPorts && Object.fromEntries(exposedPorts.toSorted().map((port) => [port, {}])),
      Env: Object.entries(byKey(env)).map(([key, value]) => `${key}=${value}`),
      Entrypoint: config.entrypoint,
      Cmd: config.cmd,
      WorkingDir: config.workingDir,
      Labels: config.labels && byKey(config.labels),
    },
    rootfs: { type: "layers", diff_ids: layers.map(({ descriptor }) => descriptor.digest) },
    history: layers.map(() => ({ created, created_by: "valkey-operator scripts/oci.ts" })),
  };
}

function byKey(record: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(record).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function architectureOf({ architecture }: ImageConfig): Architecture {
  return architecture ?? (process.arch === "arm64" ? "arm64" : "amd64");
}

/** The epoch, or the time that SOURCE_DATE_EPOCH names in seconds; never the clock's. */
function createdAt(): string {
  const given = process.env["SOURCE_DATE_EPOCH"] ?? "0";
  if (!/^\d{1,11}$/.test(given)) throw new Trouble(`SOURCE_DATE_EPOCH is "${given}"; it has to be a number of seconds`);
  return new Date(Number(given) * 1000).toISOString().replace(".000Z", "Z");
}

function archive(blobs: readonly Blob[], index: object): TarEntry[] {
  const stored = new Map(blobs.map((blob) => [blobPath(blob.descriptor), blob]));
  return [
    { kind: "file", path: "oci-layout", content: JSON.stringify({ imageLayoutVersion: "1.0.0" }) },
    { kind: "file", path: "index.json", content: JSON.stringify(index) },
    { kind: "directory", path: "blobs" },
    { kind: "directory", path: "blobs/sha256" },
    ...[...stored].map(([path, blob]): TarEntry => ({ kind: "stream", path, ...checked(blob) })),
  ];
}

function blobPath({ digest }: Descriptor): string {
  return `blobs/${digest.replace(":", "/")}`;
}

/** The bytes that go into the archive are held against the digest under which they go. */
function checked({ descriptor, bytes }: Blob): { size: number; stream: () => AsyncGenerator<Uint8Array> } {
  async function* stream(): AsyncGenerator<Uint8Array> {
    const hash = new Bun.CryptoHasher("sha256");
    for await (const piece of bytes()) {
      hash.update(piece);
      yield piece;
    }
    const digest = `sha256:${hash.digest("hex")}`;
    if (digest !== descriptor.digest) {
      throw new Trouble(`a file of the image changed while it was packed (${descriptor.digest} became ${digest})`);
    }
  }
  return { size: descriptor.size, stream };
}
