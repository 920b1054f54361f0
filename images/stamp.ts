/**
 * Remembers what a result was made of, so that it is not made again while nothing has changed. A stamp names the
 * inputs by hash and the results by hash: a result that was touched, or half of it, is made anew.
 */
import { join } from "node:path";
import * as v from "valibot";
import { ROOT } from "../scripts/lib.ts";
import { readPieces } from "../scripts/oci-tar.ts";

const Stamp = v.object({ inputs: v.string(), results: v.record(v.string(), v.string()) });

/** One hash over the contents of files, named from the root of the checkout, and over anything else that matters. */
export async function inputsHash(files: readonly string[], others: object): Promise<string> {
  const hash = new Bun.CryptoHasher("sha256").update(JSON.stringify(others));
  for (const file of files.toSorted()) {
    hash.update(file).update(await Bun.file(join(ROOT, file)).bytes());
  }
  return hash.digest("hex");
}

export async function stamp(file: string, inputs: string, results: readonly string[]): Promise<void> {
  await Bun.write(file, `${JSON.stringify({ inputs, results: await hashes(results) })}\n`);
}

export async function isFresh(file: string, inputs: string): Promise<boolean> {
  const found = v.safeParse(v.pipe(v.string(), v.parseJson(), Stamp), await textOrNothing(file));
  if (!found.success || found.output.inputs !== inputs) return false;
  const { results } = found.output;
  const there = await Promise.all(Object.keys(results).map((result) => Bun.file(result).exists()));
  return there.every(Boolean) && Bun.deepEquals(await hashes(Object.keys(results)), results);
}

async function textOrNothing(file: string): Promise<string> {
  const stamp = Bun.file(file);
  return (await stamp.exists()) ? stamp.text() : "";
}

async function hashes(files: readonly string[]): Promise<Record<string, string>> {
  return Object.fromEntries(await Promise.all(files.map(async (file) => [file, await fileHash(file)] as const)));
}

export async function fileHash(file: string): Promise<string> {
  const hash = new Bun.CryptoHasher("sha256");
  for await (const piece of readPieces(file)) hash.update(piece);
  return hash.digest("hex");
}
