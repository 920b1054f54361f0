/** Reads every acknowledged key back and compares: what is not there, or is something else, was lost. */
import type { Lane } from "./front-end.ts";
import type { Report } from "./report.ts";

export interface ReadOptions {
  readonly valueOf: (key: string) => string;
  /** Resolves when another attempt is worth while. */
  readonly hint: () => Promise<void>;
  readonly timeoutMs: number;
}

export interface Shelf {
  readonly keys: readonly string[];
  readonly lanes: readonly Lane[];
}

/** Questions on the way at once on one lane. */
const BATCH = 100;

export async function readBack(
  shelves: readonly Shelf[],
  options: ReadOptions,
): Promise<Pick<Report, "lost" | "unread">> {
  const late = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => late.resolve(undefined), options.timeoutMs);
  const reader = new Reader(options, late.promise);
  await Promise.all(shelves.flatMap(({ keys, lanes }) => reader.read(keys, lanes)));
  clearTimeout(timer);
  return { lost: reader.lost, unread: reader.unread };
}

class Reader {
  readonly lost: string[] = [];
  unread = 0;
  readonly #options: ReadOptions;
  readonly #late: Promise<undefined>;

  constructor(options: ReadOptions, late: Promise<undefined>) {
    this.#options = options;
    this.#late = late;
  }

  /** The keys are dealt out to the lanes. */
  read(keys: readonly string[], lanes: readonly Lane[]): Promise<void>[] {
    return lanes.map((lane, index) =>
      this.#readLane(
        keys.filter((_, at) => at % lanes.length === index),
        lane,
      ),
    );
  }

  async #readLane(keys: readonly string[], lane: Lane): Promise<void> {
    for (let at = 0; at < keys.length; at += BATCH) {
      await Promise.all(keys.slice(at, at + BATCH).map((key) => this.#check(key, lane)));
    }
  }

  async #check(key: string, lane: Lane): Promise<void> {
    for (;;) {
      const attempt = await Promise.race([lane.get(key), this.#late]);
      if (attempt === undefined) break;
      if (attempt.done) {
        if (attempt.value !== this.#options.valueOf(key)) this.lost.push(key);
        return;
      }
      if (!attempt.redirect && (await Promise.race([this.#options.hint(), this.#late.then(() => "late")]))) break;
    }
    this.unread++;
  }
}
