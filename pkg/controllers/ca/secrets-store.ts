/**
 * Roots from a volume of the secrets store CSI driver: a folder per name below one path, each with tls.crt and tls.key.
 * They are read and never written; the driver changes files without telling, so they are looked at every few seconds.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Clock, pause, systemClock } from "../../clock/clock.ts";
import { CERTIFICATE, KEY, type RootFiles, type RootPart, rootPart, TRUSTED } from "./root-part.ts";

export interface SecretsStoreOptions {
  /** Where the volume is mounted. */
  readonly path: string;
  readonly clock?: Clock;
}

const LOOK_MS = 5000;
const FILES = [CERTIFICATE, KEY, TRUSTED] as const;

export class SecretsStore {
  readonly #options: SecretsStoreOptions;
  readonly #wanted = new Map<string, readonly string[]>();
  readonly #parts = new Map<string, { readonly text: string; readonly part: RootPart | undefined }>();
  readonly #listeners = new Set<(name: string) => void>();

  constructor(options: SecretsStoreOptions) {
    this.#options = options;
  }

  want(user: string, names: readonly string[]): void {
    if (names.length === 0) this.#wanted.delete(user);
    else this.#wanted.set(user, names);
  }

  /** "unknown" until it was looked for; undefined when there is no such folder or nothing in it. */
  part(name: string): RootPart | undefined | "unknown" {
    const known = this.#parts.get(name);
    return known === undefined ? "unknown" : known.part;
  }

  /** The files as they are now. */
  async files(name: string): Promise<RootFiles> {
    const found = await Promise.all(FILES.map(async (file) => [file, await this.#read(name, file)] as const));
    return Object.fromEntries(found.filter(([, text]) => text !== ""));
  }

  subscribe(on: (name: string) => void): () => void {
    this.#listeners.add(on);
    return () => void this.#listeners.delete(on);
  }

  async run(signal: AbortSignal): Promise<void> {
    const clock = this.#options.clock ?? systemClock;
    do await this.look();
    while (await pause(clock, LOOK_MS, signal));
  }

  async look(): Promise<void> {
    for (const name of new Set([...this.#wanted.values()].flat())) {
      const files = await this.files(name);
      const text = JSON.stringify(files);
      if (this.#parts.get(name)?.text === text) continue;
      const part = Object.keys(files).length === 0 ? undefined : rootPart({ name }, files);
      this.#parts.set(name, { text, part });
      for (const listener of this.#listeners) listener(name);
    }
  }

  /** A file that cannot be read counts as missing, which the status of whoever needs it says. */
  async #read(name: string, file: string): Promise<string> {
    try {
      return await readFile(join(this.#options.path, name, file), "utf8");
    } catch {
      return "";
    }
  }
}
