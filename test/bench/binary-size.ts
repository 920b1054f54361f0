/** What our code adds to the runtime that every compiled binary carries, on disk and as it travels (gzip). */
import { createReadStream } from "node:fs";
import { realpath, stat } from "node:fs/promises";
import { basename } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { BINARIES, type Binary, build } from "../../scripts/build.ts";
import type { Bench, Progress } from "./bench.ts";

export interface Size {
  readonly [field: string]: string | number;
  readonly what: string;
  readonly bytes: number;
  readonly gzip: number;
}

export const binarySize: Bench = {
  name: "binary-size",
  summary: "bytes of the largest compiled binary against the bare Bun runtime; each with its gzip size in runs",
  run: async (progress) => {
    const bare = await sizeOf(await realpath(process.execPath), "bun", progress);
    const ours: Size[] = [];
    for (const name of Object.keys(BINARIES) as Binary[]) {
      const file = await build(name);
      ours.push(await sizeOf(file, basename(file), progress));
    }
    const value = Math.max(...ours.map(({ bytes }) => bytes));
    return { value, unit: "bytes", limit: bare.bytes, runs: [...ours, bare] };
  },
};

export async function sizeOf(file: string, what: string, progress: Progress): Promise<Size> {
  const { size } = await stat(file);
  let gzip = 0;
  await pipeline(createReadStream(file), createGzip(), async (packed: AsyncIterable<Buffer>) => {
    for await (const piece of packed) gzip += piece.length;
  });
  progress(`${what}: ${megabytes(size)}, gzip ${megabytes(gzip)}`);
  return { what, bytes: size, gzip };
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
