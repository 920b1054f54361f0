/** Every acknowledgement of a run: kept for reading back, measured, and written to a file when one is given. */
import { createWriteStream, type WriteStream } from "node:fs";
import { finished } from "node:stream/promises";
import { GapMeter } from "./gaps.ts";
import type { ShardReport } from "./report.ts";
import type { Shard } from "./shards.ts";

interface ShardBook {
  readonly shard: Shard;
  readonly gaps: GapMeter;
  readonly keys: string[];
}

export class Ledger {
  readonly latencies: number[] = [];
  readonly #books: Map<Shard, ShardBook>;
  readonly #times = new Map<string, number>();
  readonly #file: WriteStream | undefined;
  readonly #began: number;

  constructor(shards: readonly Shard[], began: number, file?: string) {
    this.#began = began;
    this.#books = new Map(shards.map((shard) => [shard, { shard, gaps: new GapMeter(began), keys: [] }]));
    this.#file = file === undefined ? undefined : createWriteStream(file, { flags: "a" });
  }

  acknowledge(shard: Shard, key: string, times: { readonly due: number; readonly now: number }): void {
    const book = this.#book(shard);
    const latency = times.now - times.due;
    book.keys.push(key);
    this.#times.set(key, times.now - this.#began);
    book.gaps.success(times.now);
    this.latencies.push(latency);
    const line = { at: Math.round(times.now - this.#began), key, latency: Math.round(latency * 100) / 100 };
    this.#file?.write(`${JSON.stringify(line)}\n`);
  }

  /** No write of this shard is awaited any more. */
  end(shard: Shard, now: number): void {
    this.#book(shard).gaps.end(now);
  }

  keys(shard: Shard): readonly string[] {
    return this.#book(shard).keys;
  }

  /** Milliseconds since the start when the write of this key was acknowledged. */
  acknowledgedAt(key: string): number {
    return Math.round(this.#times.get(key) ?? Number.NaN);
  }

  reports(): ShardReport[] {
    return [...this.#books.values()].map(({ shard, gaps, keys }) => ({
      name: shard.name,
      slots: shard.slots,
      acknowledged: keys.length,
      worstGapMs: gaps.worst.ms,
      worstGapAtMs: gaps.worst.atMs,
      longGaps: gaps.long,
    }));
  }

  async close(): Promise<void> {
    if (this.#file === undefined || this.#file.closed) return;
    this.#file.end();
    await finished(this.#file);
  }

  #book(shard: Shard): ShardBook {
    const book = this.#books.get(shard);
    if (book === undefined) throw new Error(`shard ${shard.name} is not of this run`);
    return book;
  }
}
