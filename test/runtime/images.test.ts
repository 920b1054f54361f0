/** The images as they ship: what is in them, that it runs the way a pod runs it, and that the bytes never vary. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdir, mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PACKAGES } from "../../images/base.ts";
import { IMAGES, type ImageSpec } from "../../images/files.ts";
import { fileHash } from "../../images/stamp.ts";
import { field } from "../../scripts/debian-package.ts";
import { type BuiltImage, buildImages } from "../../scripts/images.ts";
import { run } from "../../scripts/lib.ts";

const MINUTE = 60_000;
const isRoot = process.getuid?.() === 0;
if (!isRoot) console.log("images: not root, so no program is started inside its image; run as root to see that too");

let dir = "";
let images: BuiltImage[] = [];
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "images-"));
  images = await buildImages({ outdir: join(dir, "first") });
}, 5 * MINUTE);
afterAll(() => rm(dir, { recursive: true, force: true }));

function imageOf({ id }: ImageSpec): BuiltImage {
  const found = images.find((image) => image.id === id);
  if (found === undefined) throw new Error(`no image ${id} was built`);
  return found;
}

interface Bill {
  readonly bomFormat: string;
  readonly components: readonly {
    readonly name: string;
    readonly version: string;
    readonly hashes?: readonly { readonly alg: string }[];
  }[];
}

async function billOf(spec: ImageSpec): Promise<Bill> {
  return (await Bun.file(imageOf(spec).sbom).json()) as Bill;
}

/** The image's root, as a container runtime would lay it out. */
async function rootOf(spec: ImageSpec): Promise<string> {
  const root = join(dir, `root-${spec.id}`);
  const layout = join(dir, `layout-${spec.id}`);
  await mkdir(root);
  await mkdir(layout);
  await run(["tar", "-xf", imageOf(spec).file, "-C", layout]);
  const blob = async (digest: string) => Bun.file(join(layout, "blobs/sha256", digest.slice("sha256:".length)));
  const index = (await Bun.file(join(layout, "index.json")).json()) as { manifests: [{ digest: string }] };
  const manifest = (await (await blob(index.manifests[0].digest)).json()) as { layers: { digest: string }[] };
  for (const { digest } of manifest.layers) {
    await run(["tar", "-xpf", join(layout, "blobs/sha256", digest.slice("sha256:".length)), "-C", root]);
  }
  await rm(layout, { recursive: true });
  return root;
}

/** In a mount and process namespace of its own, its root read-only, as the image's user, with an empty environment. */
function confined(root: string, command: readonly string[]): Promise<string> {
  const script = [
    'mount --bind "$1" "$1"',
    'mount -t proc proc "$1/proc"',
    'mount -o remount,bind,ro "$1"',
    'root="$1"; shift',
    'exec env -i "$(command -v chroot)" --userspec=65532:65532 "$root" "$@"',
  ].join(" && ");
  return run(["unshare", "--mount", "--pid", "--net", "--fork", "sh", "-c", script, "sh", root, ...command]);
}

describe.each(IMAGES.map((spec) => [spec.id, spec] as const))("%s", (_, spec) => {
  let root = "";
  beforeAll(async () => {
    root = await rootOf(spec);
  }, MINUTE);

  test("holds one program, the C library's two, and no shell", async () => {
    const programs: string[] = [];
    for (const found of await readdir(root, { recursive: true, withFileTypes: true })) {
      const path = join(found.parentPath, found.name);
      if (found.isFile() && ((await stat(path)).mode & 0o111) !== 0) programs.push(path.slice(root.length));
    }
    expect(programs.filter((path) => !/^\/lib\/[^/]+\/(ld-linux-.*|libc\.so\.6)$/.test(path))).toEqual([
      ...spec.entrypoint,
    ]);
  });

  test("holds the listed files with their modes, and a /tmp for all", async () => {
    for (const { to, mode } of spec.files) expect((await stat(join(root, to))).mode & 0o7777).toBe(mode);
    expect((await stat(join(root, "tmp"))).mode & 0o7777).toBe(0o1777);
  });

  test.if(isRoot)("runs as uid 65532 on a read-only root", async () => {
    expect(await confined(root, [...spec.entrypoint, "--version"])).toStartWith(`${spec.binary} `);
  });

  test("lists its parts in a bill of materials beside it", async () => {
    const { bomFormat, components } = await billOf(spec);
    expect(bomFormat).toBe("CycloneDX");
    expect(components.map(({ name }) => name)).toContain("commander");
  });

  test.each(PACKAGES.map(({ name }) => name))("says the same of %s in the bill and in the image", async (name) => {
    const listed = (await billOf(spec)).components.find((component) => component.name === name);
    const control = await Bun.file(join(root, "var/lib/dpkg/status.d", name)).text();
    expect(field(control, "Package")).toBe(name);
    expect(field(control, "Version")).toBe(listed?.version ?? "not listed");
    expect(listed?.hashes?.map(({ alg }) => alg)).toEqual(["SHA-256"]);
  });

  test("trusts the roots of Debian", async () => {
    const bundle = await Bun.file(join(root, "etc/ssl/certs/ca-certificates.crt")).text();
    expect(bundle.match(/^-----BEGIN CERTIFICATE-----$/gm)?.length).toBeGreaterThan(100);
  });
});

test(
  "a second build gives the same bytes",
  async () => {
    const again = await buildImages({ outdir: join(dir, "second") });
    for (const [index, { file, sbom }] of again.entries()) {
      const first = images[index];
      expect(await fileHash(file)).toBe(await fileHash(first?.file ?? ""));
      expect(await fileHash(sbom)).toBe(await fileHash(first?.sbom ?? ""));
    }
  },
  5 * MINUTE,
);

test("what has not changed is not built again", async () => {
  const before = await Promise.all(images.map(({ file }) => stat(file)));
  await buildImages({ outdir: join(dir, "first") });
  const after = await Promise.all(images.map(({ file }) => stat(file)));
  expect(after.map(({ ino, mtimeMs }) => [ino, mtimeMs])).toEqual(before.map(({ ino, mtimeMs }) => [ino, mtimeMs]));
});
