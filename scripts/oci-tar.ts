/**
 * A tar archive as a stream of bytes that depend on its entries alone: sorted, dated at the epoch, owned by numbers.
 * Big files pass through in pieces and are never held in memory.
 */
import { createReadStream, createWriteStream } from "node:fs";
import { rename, stat } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { Trouble } from "./lib.ts";
import { withScratch } from "./scratch.ts";

interface Owned {
  /** Where it goes, from the root; a leading slash makes no difference. */
  readonly path: string;
  /** Defaults to 0644 for files and 0755 for directories; links have none of their own. */
  readonly mode?: number;
  /** Defaults to 0. */
  readonly uid?: number;
  /** Defaults to 0. */
  readonly gid?: number;
}

export type TarEntry = Owned &
  (
    | { readonly kind: "file"; readonly content: string | Uint8Array }
    /** A file whose content is that of a file on this machine. */
    | { readonly kind: "copy"; readonly source: string }
    /** A file whose bytes come from elsewhere; they have to be `size` in number. */
    | { readonly kind: "stream"; readonly size: number; readonly stream: () => AsyncIterable<Uint8Array> }
    | { readonly kind: "symlink"; readonly target: string }
    | { readonly kind: "directory" }
  );

const BLOCK = 512;
const NAME_FIELD = 100;
const PIECE = 1024 * 1024;
const LARGEST_ID = 0o7777777;
const LARGEST_SIZE = 0o77777777777;

/** Parents are not made up: in an image an invented /lib would replace the link of that name in a lower layer. */
export async function* tar(entries: readonly TarEntry[]): AsyncGenerator<Uint8Array> {
  for (const entry of inOrder(entries)) {
    const size = await sizeOf(entry);
    yield* headers(entry, size);
    let written = 0;
    for await (const piece of contentOf(entry)) {
      written += piece.length;
      yield piece;
    }
    if (written !== size) {
      throw new Trouble(`${entry.path} changed while it was packed: it had ${size} bytes, then ${written}`);
    }
    yield new Uint8Array(padding(size));
  }
  yield new Uint8Array(2 * BLOCK);
}

/** An interrupted build leaves no half archive. */
export async function writeTar(outfile: string, entries: readonly TarEntry[]): Promise<void> {
  await withScratch(outfile, async (scratch) => {
    const written = join(scratch, "tar");
    await pipeline(Readable.from(tar(entries)), createWriteStream(written));
    await rename(written, outfile);
  });
}

function inOrder(entries: readonly TarEntry[]): TarEntry[] {
  const named = new Map<string, TarEntry>();
  for (const entry of entries) {
    const path = cleanPath(entry.path);
    if (named.has(path)) throw new Trouble(`two entries of one archive have the path ${path}`);
    named.set(path, { ...entry, path });
  }
  // By code unit, not by locale, so that every machine sorts alike.
  return [...named.values()].toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

function cleanPath(path: string): string {
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  if (parts.length === 0 || parts.includes("..") || path.includes("\0")) {
    throw new Trouble(`"${path}" is no path inside an archive`);
  }
  return parts.join("/");
}

async function sizeOf(entry: TarEntry): Promise<number> {
  if (entry.kind === "file") return Buffer.byteLength(entry.content);
  if (entry.kind === "copy") return (await stat(entry.source)).size;
  return entry.kind === "stream" ? entry.size : 0;
}

async function* contentOf(entry: TarEntry): AsyncGenerator<Uint8Array> {
  if (entry.kind === "file") yield Buffer.from(entry.content);
  if (entry.kind === "copy") yield* readPieces(entry.source);
  if (entry.kind === "stream") yield* entry.stream();
}

export async function* readPieces(file: string): AsyncGenerator<Uint8Array> {
  for await (const piece of createReadStream(file, { highWaterMark: PIECE })) yield piece as Buffer;
}

function padding(size: number): number {
  return (BLOCK - (size % BLOCK)) % BLOCK;
}

/** The ustar header, and before it a pax header for what its fixed fields cannot hold. */
function* headers(entry: TarEntry, size: number): Generator<Uint8Array> {
  const name = entry.kind === "directory" ? `${entry.path}/` : entry.path;
  const target = entry.kind === "symlink" ? entry.target : "";
  const long = Object.entries({ path: name, linkpath: target }).filter(([, value]) => !fitsNameField(value));
  if (long.length > 0) {
    const records = Buffer.concat(long.map(([key, value]) => paxRecord(key, value)));
    yield header({ name: "pax", target: "", type: "x", size: records.length, mode: 0o644, uid: 0, gid: 0 });
    yield records;
    yield new Uint8Array(padding(records.length));
  }
  const { uid = 0, gid = 0, mode = DEFAULT_MODE[entry.kind] } = entry;
  yield header({ name: cut(name), target: cut(target), type: TYPE[entry.kind], size, mode, uid, gid });
}

const TYPE = { file: "0", copy: "0", stream: "0", symlink: "2", directory: "5" } as const;
const DEFAULT_MODE = { file: 0o644, copy: 0o644, stream: 0o644, symlink: 0o777, directory: 0o755 } as const;

function fitsNameField(value: string): boolean {
  return value.length <= NAME_FIELD && Buffer.byteLength(value) === value.length;
}

/** What readers that know no pax see in place of a name that does not fit. */
function cut(value: string): string {
  return value.replaceAll(/[^ -~]/g, "_").slice(0, NAME_FIELD);
}

/** "LENGTH key=value\n", where LENGTH counts its own digits too. */
function paxRecord(key: string, value: string): Buffer {
  const rest = Buffer.from(` ${key}=${value}\n`);
  let length = rest.length + 1;
  while (`${length}`.length + rest.length !== length) length = `${length}`.length + rest.length;
  return Buffer.concat([Buffer.from(`${length}`), rest]);
}

interface Header {
  readonly name: string;
  readonly target: string;
  readonly type: string;
  readonly size: number;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
}

function header({ name, target, type, size, mode, uid, gid }: Header): Uint8Array {
  if (uid > LARGEST_ID || gid > LARGEST_ID || size > LARGEST_SIZE) {
    throw new Trouble(`${name}: uid ${uid}, gid ${gid} or size ${size} does not fit a tar header`);
  }
  const block = Buffer.alloc(BLOCK);
  const octal = (value: number, offset: number, width: number) =>
    block.write(`${value.toString(8).padStart(width - 1, "0")}\0`, offset, "latin1");
  block.write(name, 0, "latin1");
  octal(mode, 100, 8);
  octal(uid, 108, 8);
  octal(gid, 116, 8);
  octal(size, 124, 12);
  octal(0, 136, 12);
  block.write(type, 156, "latin1");
  block.write(target, 157, "latin1");
  block.write("ustar\x0000", 257, "latin1");
  octal(0, 329, 8);
  octal(0, 337, 8);
  // The checksum is taken with its own field full of spaces.
  block.fill(" ", 148, 156);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return block;
}
