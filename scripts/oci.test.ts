import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { array, assert, asyncProperty, string, uniqueArray } from "fast-check";
import { run } from "./lib.ts";
import { type Layer, type TarEntry, writeImage } from "./oci.ts";
import { tar } from "./oci-tar.ts";

let dir = "";
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "oci-"));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const long = `opt/${"a-long-folder-name/".repeat(12)}file`;
const entries: TarEntry[] = [
  { kind: "directory", path: "/tmp", mode: 0o1777 },
  { kind: "file", path: "/etc/passwd", content: "root:x:0:0::/:\n" },
  { kind: "file", path: long, content: "deep" },
  { kind: "symlink", path: "/lib", target: "usr/lib" },
  { kind: "file", path: "/home/größe", content: "umlauts", uid: 65532, gid: 65532, mode: 0o600 },
];

async function image(file: string, layers: Layer[]): Promise<string> {
  const config = { entrypoint: ["/app"], user: "65532:65532", env: { A: "1" }, labels: { b: "2" } };
  const { digest } = await writeImage({ outfile: join(dir, file), name: "localhost/thing:1.0", layers, config });
  return digest;
}

async function bytes(file: string): Promise<Buffer> {
  return Buffer.from(await Bun.file(join(dir, file)).arrayBuffer());
}

async function collect(list: readonly TarEntry[]): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of tar(list)) pieces.push(piece);
  return Buffer.concat(pieces);
}

/** Why a piece of work failed. */
async function failure(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => "it did not fail",
    (reason) => String(reason),
  );
}

async function document(name: string): Promise<unknown> {
  return JSON.parse(await run(["tar", "-xOf", join(dir, "image"), name]));
}

interface Manifest {
  config: { digest: string };
  layers: { digest: string; size: number }[];
}

async function manifest(): Promise<Manifest> {
  const index = (await document("index.json")) as { manifests: { digest: string }[] };
  return (await document(`blobs/sha256/${index.manifests[0]?.digest.slice(7)}`)) as Manifest;
}

test("tar reads back names, modes, owners, links and contents", async () => {
  await Bun.write(join(dir, "layer.tar"), await collect(entries));
  const listing = (await run(["tar", "--numeric-owner", "-tvf", join(dir, "layer.tar")], { env: { TZ: "UTC" } })).split(
    "\n",
  );
  expect(listing.find((line) => line.endsWith(" tmp/"))).toStartWith("drwxrwxrwt 0/0");
  expect(listing.find((line) => line.includes("lib -> usr/lib"))).toStartWith("lrwxrwxrwx");
  expect(listing.find((line) => line.includes("home/"))).toStartWith("-rw------- 65532/65532");
  expect(listing.filter((line) => line !== "").every((line) => line.includes("1970-01-01 00:00"))).toBe(true);
  await run(["tar", "-xf", join(dir, "layer.tar"), "-C", dir, "--no-same-owner"]);
  expect(await Bun.file(join(dir, long)).text()).toBe("deep");
  expect(await Bun.file(join(dir, "home/größe")).text()).toBe("umlauts");
});

test("any list of long and strange names comes back from tar as it went in", async () => {
  const part = string({ unit: "grapheme", minLength: 1, maxLength: 60 }).map((text) => text.replaceAll(/[/.\0]/g, "x"));
  const path = array(part, { minLength: 1, maxLength: 6 }).map((parts) => parts.join("/"));
  await assert(
    asyncProperty(uniqueArray(path, { minLength: 1, maxLength: 5 }), async (paths) => {
      await Bun.write(
        join(dir, "names.tar"),
        await collect(paths.map((path) => ({ kind: "file", path, content: path }))),
      );
      const listed = await run(["tar", "-tf", join(dir, "names.tar"), "--quoting-style=literal"], {
        env: { LC_ALL: "C.UTF-8" },
      });
      expect(listed).toBe(
        paths
          .toSorted((a, b) => (a < b ? -1 : 1))
          .map((path) => `${path}\n`)
          .join(""),
      );
    }),
    { numRuns: 20 },
  );
});

test("the same image in any order of entries is the same bytes, and another content is not", async () => {
  const first = await image("a", [{ entries }]);
  const second = await image("b", [{ entries: entries.toReversed() }]);
  expect(second).toBe(first);
  expect((await bytes("a")).equals(await bytes("b"))).toBe(true);
  expect(await image("c", [{ entries: entries.slice(1) }])).not.toBe(first);
});

test("every blob is stored under its own digest and size", async () => {
  await image("image", [{ entries }, { entries: [{ kind: "file", path: "x", content: "y" }] }]);
  const { layers, config } = await manifest();
  expect(layers).toHaveLength(2);
  for (const { digest } of [...layers, config]) {
    await run(["tar", "-xf", join(dir, "image"), "-C", dir, `blobs/sha256/${digest.slice(7)}`]);
    const blob = await bytes(`blobs/sha256/${digest.slice(7)}`);
    expect(new Bun.CryptoHasher("sha256").update(blob).digest("hex")).toBe(digest.slice(7));
  }
});

test("the index carries the name by which containerd will know the image", async () => {
  await image("image", [{ entries }]);
  expect(await document("index.json")).toMatchObject({
    manifests: [
      {
        annotations: {
          "io.containerd.image.name": "localhost/thing:1.0",
          "org.opencontainers.image.ref.name": "1.0",
        },
      },
    ],
  });
});

test("the config says how the image runs and is dated at the epoch", async () => {
  await image("image", [{ entries }]);
  const { config } = await manifest();
  expect(await document(`blobs/sha256/${config.digest.slice(7)}`)).toMatchObject({
    created: "1970-01-01T00:00:00Z",
    os: "linux",
    config: { Entrypoint: ["/app"], User: "65532:65532", Env: ["A=1"], Labels: { b: "2" } },
    rootfs: { type: "layers" },
  });
});

test("a tar on disk and files on disk become layers as they are", async () => {
  await Bun.write(join(dir, "layer.tar"), await collect(entries));
  const big = join(dir, "big");
  await Bun.write(big, new Uint8Array(3_000_001).fill(7));
  const copied: Layer = { entries: [{ kind: "copy", path: "/usr/bin/big", source: big, mode: 0o755 }] };
  await image("image", [{ tar: join(dir, "layer.tar") }, copied]);
  const { layers } = await manifest();
  expect(layers[0]?.size).toBe((await stat(join(dir, "layer.tar"))).size);
  await run(["tar", "-xf", join(dir, "image"), "-C", dir]);
  await run(["tar", "-xf", join(dir, `blobs/sha256/${layers[1]?.digest.slice(7)}`), "-C", dir]);
  expect((await bytes("usr/bin/big")).equals(await bytes("big"))).toBe(true);
  expect((await stat(join(dir, "usr/bin/big"))).mode & 0o777).toBe(0o755);
});

test("the same layer twice is stored once", async () => {
  await image("image", [{ entries }, { entries }]);
  const names = (await run(["tar", "-tf", join(dir, "image")])).split("\n").filter(Boolean);
  expect(new Set(names).size).toBe(names.length);
});

test("what fails leaves no file behind", async () => {
  const missing: Layer = { entries: [{ kind: "copy", path: "/x", source: join(dir, "missing") }] };
  expect(await failure(image("image", [missing]))).toContain("missing");
  expect(await readdir(dir)).toEqual([]);
});

test.each(["/", "../etc/passwd", "a/../../b", ""])("the path %p is refused", async (path) => {
  expect(await failure(collect([{ kind: "directory", path }]))).toContain("no path inside");
});

test("two entries with one path are refused", async () => {
  const twice: TarEntry[] = [
    { kind: "file", path: "/a", content: "" },
    { kind: "directory", path: "a/" },
  ];
  expect(await failure(collect(twice))).toContain("two entries");
});

test.each(["thing:1", "localhost/thing", "localhost/Thing:1"])("the image name %p is refused", async (name) => {
  expect(await failure(writeImage({ outfile: join(dir, "image"), name, layers: [] }))).toContain("no full image name");
});
