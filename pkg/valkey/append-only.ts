/** The folder of an append-only file: what a server would load from it. */
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { readRdbHeader } from "./rdb-header.ts";

/**
 * Whether it holds anything; undefined when there is no append-only file. A server with nothing in it has files there,
 * too: an empty snapshot as base and an increment of no bytes. What the manifest does not name, or calls history, is not
 * loaded. A base that cannot be read counts as data.
 */
export async function appendOnlyHasData(dir: string): Promise<boolean | undefined> {
  const paths = await loadedFrom(dir);
  if (paths === undefined) return undefined;
  for (const path of paths) {
    if (await fileHasData(path)) return true;
  }
  return false;
}

/** The snapshots among the files that a server would load. */
export async function snapshotsOf(dir: string): Promise<readonly string[]> {
  return ((await loadedFrom(dir)) ?? []).filter((path) => path.endsWith(".rdb"));
}

/** Undefined when there is no append-only file. */
async function loadedFrom(dir: string): Promise<readonly string[] | undefined> {
  const names = await list(dir);
  const manifests = names.filter((name) => name.endsWith(".manifest"));
  if (manifests.length === 0) return undefined;
  const listed = await Promise.all(
    manifests.map(async (name) => parseManifest(await readFile(join(dir, name), "utf8"))),
  );
  return listed
    .flat()
    .filter((name) => names.includes(name))
    .map((name) => join(dir, name));
}

/** `file appendonly.aof.1.base.rdb seq 1 type b`; a name with blanks stands in quotes. */
export function parseManifest(text: string): readonly string[] {
  const files: string[] = [];
  for (const line of text.split("\n")) {
    const match = /^\s*file\s+(?:"(?<quoted>[^"]*)"|(?<plain>\S+))\s.*\btype\s+(?<type>[a-z])/u.exec(line);
    const { quoted, plain, type } = match?.groups ?? {};
    const name = quoted ?? plain;
    if (name !== undefined && type !== "h") files.push(name);
  }
  return files;
}

async function list(dir: string): Promise<readonly string[]> {
  return readdir(dir).catch((error: unknown): string[] => {
    if (error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR")) return [];
    throw error;
  });
}

async function fileHasData(path: string): Promise<boolean> {
  if ((await stat(path)).size === 0) return false;
  if (!path.endsWith(".rdb")) return true;
  try {
    return (await readRdbHeader(path))?.empty !== true;
  } catch {
    return true;
  }
}
