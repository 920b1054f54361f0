/**
 * Commands carry the term of the operator's leadership. An agent remembers the highest term that it has seen and refuses
 * lower ones, so that a deposed leader commands nothing, however late its message arrives.
 */
import { open, readFile, rename } from "node:fs/promises";

export const FENCING_HEADER = "valkey-fencing-token";

export interface FencingStore {
  /** 0 before any command. */
  highest(): number;
  /**
   * Holds from the call on; done when it would survive a restart. A token that is not higher changes nothing, but waits
   * for what is being written.
   */
  raise(token: number): Promise<void>;
}

/** Seconds since 2024 and counting by terms: a number in 53 bits will always do. */
export function parseToken(text: string): number | undefined {
  return /^[1-9][0-9]{0,14}$/.test(text) ? Number(text) : undefined;
}

export class MemoryFencing implements FencingStore {
  #highest = 0;

  highest(): number {
    return this.#highest;
  }

  async raise(token: number): Promise<void> {
    this.#highest = Math.max(this.#highest, token);
  }
}

/** For an agent: in a file on the pod's tmpfs, which outlives the agent and not the pod. */
export class FileFencing implements FencingStore {
  readonly #path: string;
  #highest: number;
  #written: number;
  #writing: Promise<void> = Promise.resolve();

  private constructor(path: string, highest: number) {
    this.#path = path;
    this.#highest = highest;
    this.#written = highest;
  }

  static async open(path: string): Promise<FileFencing> {
    const text = await readFile(path, "utf8").catch((error: unknown) => {
      if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
      throw error;
    });
    if (text === undefined) return new FileFencing(path, 0);
    const token = parseToken(text.trim());
    if (token === undefined) {
      throw new Error(
        `${path} should hold the highest fencing token and holds no number: somebody else wrote to it. ` +
          "Delete the pod to begin anew",
      );
    }
    return new FileFencing(path, token);
  }

  highest(): number {
    return this.#highest;
  }

  async raise(token: number): Promise<void> {
    this.#highest = Math.max(this.#highest, token);
    // One after the other: two writers of one temporary file would mix. A failed write fails the commands that wait for
    // it; the next command tries again.
    this.#writing = this.#writing.catch(() => {}).then(() => this.#write());
    await this.#writing;
  }

  async #write(): Promise<void> {
    const token = this.#highest;
    if (token === this.#written) return;
    const temporary = `${this.#path}.new`;
    const file = await open(temporary, "w", 0o600);
    try {
      await file.writeFile(`${token}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, this.#path);
    this.#written = token;
  }
}
