/**
 * What is in our images, once: the Containerfiles and the build without a daemon are both made from these lists, so
 * that what is tested in the lab is what people build with Docker. The plugin has no image; it runs beside kubectl.
 */
import type { Binary } from "../scripts/build.ts";

export type ImageId = "operator" | "sidecar";

export interface ImageFile {
  /** From the root of the checkout; what is in dist/ is built first. */
  readonly from: string;
  readonly to: string;
  readonly mode: number;
}

export interface ImageSpec {
  readonly id: ImageId;
  /** The last part of the image's name, before the tag. */
  readonly repository: string;
  readonly binary: Binary;
  readonly description: string;
  readonly files: readonly ImageFile[];
  readonly entrypoint: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** The "nonroot" of distroless images. Files belong to root, so that the program cannot change itself. */
export const USER = { name: "nonroot", id: 65532 } as const;

/**
 * For Docker and buildah. A compiled binary needs glibc and nothing else; TLS and its trusted roots are inside Bun.
 * Without a registry, images/base.ts makes a layer with the same contents.
 */
export const BASE_IMAGE = "gcr.io/distroless/base-nossl-debian12:nonroot";

export const IMAGES: readonly ImageSpec[] = [
  image("operator", "valkey-operator", "Makes and heals Valkey deployments on Kubernetes"),
  image("sidecar", "valkey-sidecar", "The agent beside every Valkey server of the Valkey operator", {
    // There is one beside every server, and it is idle: compiled code would cost each a quarter of its memory.
    BUN_JSC_useJIT: "0",
    // An allocator that looks for pages to give back ten times a second takes a fifth of what an idle agent does. The
    // collector runs when there is something to collect, not because time has passed.
    MIMALLOC_PURGE_HOLES_MIN_INTERVAL: "10000",
    BUN_GC_TIMER_INTERVAL: "10000",
    BUN_JSC_percentCPUPerMBForEdenTimer: "0.0005",
    BUN_JSC_percentCPUPerMBForFullTimer: "0.00006",
  }),
];

function image(id: ImageId, binary: Binary, description: string, env: ImageSpec["env"] = {}): ImageSpec {
  const path = `/usr/local/bin/${binary}`;
  return {
    id,
    repository: binary,
    binary,
    description,
    files: [
      { from: `dist/${binary}`, to: path, mode: 0o755 },
      { from: "LICENSE", to: `/usr/share/doc/${binary}/copyright`, mode: 0o644 },
    ],
    entrypoint: [path],
    env,
  };
}

export interface Release {
  readonly version: string;
  readonly revision: string;
  /** Where the source is published, when that is known. */
  readonly source?: string;
}

/** The labels that registries and scanners read. */
export function labels(spec: ImageSpec, release: Release): Record<string, string> {
  return {
    "org.opencontainers.image.title": spec.repository,
    "org.opencontainers.image.description": spec.description,
    "org.opencontainers.image.licenses": "Apache-2.0",
    "org.opencontainers.image.version": release.version,
    "org.opencontainers.image.revision": release.revision,
    ...(release.source === undefined ? {} : { "org.opencontainers.image.source": release.source }),
  };
}
