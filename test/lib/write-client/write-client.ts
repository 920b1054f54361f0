/**
 * The write client: the judge of every promise about writes. It writes unique keys to all shards at a fixed rate,
 * retries each write until it is acknowledged, and at the end reads every acknowledged key back. What it reports is
 * what an application would have felt: the longest time without a successful write, latencies, errors, lost writes.
 *
 * Writes fall due by the clock, whether earlier ones have been answered or not, and their latency counts from then: a
 * stall is measured by everything that had to wait for it.
 */
import { randomBytes } from "node:crypto";
import { Trouble } from "../../../scripts/lib.ts";
import { count, type FrontEnd, type FrontEndName, type Lane, type Target } from "./front-end.ts";
import { Iovalkey } from "./iovalkey.ts";
import { Ledger } from "./ledger.ts";
import { Prober } from "./prober.ts";
import { readBack } from "./read-back.ts";
import { percentiles, type Report } from "./report.ts";
import { keyFor, type Shard, shardsOf } from "./shards.ts";
import { WorkQueue } from "./work-queue.ts";

export interface WriteOptions extends Target {
  readonly frontEnd: FrontEndName;
  /** Writes a second over all shards together. Defaults to 300. */
  readonly rate?: number;
  /** Connections that write to each shard. Defaults to 3. */
  readonly connections?: number;
  /** Defaults to 64. */
  readonly valueBytes?: number;
  /** How long writes that are not acknowledged when the run is stopped are still retried. Defaults to 10000. */
  readonly drainMs?: number;
  /** How long reading back may take. Defaults to 120000. */
  readonly readMs?: number;
  /** A file to which every acknowledgement is appended, one JSON object a line. */
  readonly log?: string;
}

interface Write {
  readonly key: string;
  readonly due: number;
}

interface Crew {
  readonly shard: Shard;
  readonly queue: WorkQueue<Write>;
  readonly lanes: readonly Lane[];
}

export class WriteClient implements AsyncDisposable {
  readonly #options: WriteOptions;
  readonly #frontEnd: FrontEnd;
  readonly #crews: readonly Crew[];
  readonly #prefix = `wc:${randomBytes(6).toString("hex")}`;
  readonly #errors = new Map<string, number>();
  readonly #redirects = new Map<string, number>();
  readonly #ledger: Ledger;
  readonly #began = performance.now();
  readonly #startedAt = Date.now();
  readonly #workers: Promise<void>;
  #timer: Timer | undefined;
  #due = 0;
  readonly #givenUp = Promise.withResolvers<undefined>();
  #over = false;

  /** Connects every lane, then begins to write. */
  static async start(options: WriteOptions): Promise<WriteClient> {
    const prober = await Prober.connect(options);
    const shards = shardsOf(prober.topology);
    if (shards.length === 0) {
      prober.close();
      throw new Trouble("no node owns any slot: is there a primary among the addresses?");
    }
    const frontEnd = chooseFrontEnd(options, prober);
    try {
      const crews = await Promise.all(shards.map((shard) => hire(shard, frontEnd, options.connections ?? 3)));
      return new WriteClient(options, frontEnd, crews);
    } catch (error) {
      frontEnd.close();
      throw error;
    }
  }

  private constructor(options: WriteOptions, frontEnd: FrontEnd, crews: readonly Crew[]) {
    this.#options = options;
    this.#frontEnd = frontEnd;
    this.#crews = crews;
    this.#ledger = new Ledger(
      crews.map(({ shard }) => shard),
      this.#began,
      options.log,
    );
    this.#workers = this.#work();
    this.#schedule();
  }

  get acknowledged(): number {
    return this.#ledger.latencies.length;
  }

  /** Writes that are due and not acknowledged yet: none but a few when every shard takes writes. */
  get waiting(): number {
    return this.#due - this.acknowledged;
  }

  /** Stops writing, waits for what is due, reads everything back and tells what was found. */
  async stop(): Promise<Report> {
    clearTimeout(this.#timer);
    for (const { queue } of this.#crews) queue.close();
    const drain = setTimeout(() => this.#giveUp(), this.#options.drainMs ?? 10_000);
    await this.#workers;
    clearTimeout(drain);
    const seconds = (performance.now() - this.#began) / 1000;
    const found = await readBack(
      this.#crews.map(({ shard, lanes }) => ({ keys: this.#ledger.keys(shard), lanes })),
      {
        valueOf: (key) => this.#value(key),
        hint: () => this.#frontEnd.hint(),
        timeoutMs: this.#options.readMs ?? 120_000,
      },
    );
    this.#frontEnd.close();
    await this.#ledger.close();
    const lostAtMs = found.lost.map((key) => this.#ledger.acknowledgedAt(key));
    return { ...this.#measured(seconds), ...found, lostAtMs };
  }

  /** For a test that fails on the way: ends everything without a report. After stop it does nothing more. */
  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#timer);
    for (const { queue } of this.#crews) queue.close();
    this.#giveUp();
    await this.#workers;
    this.#frontEnd.close();
    await this.#ledger.close();
  }

  #measured(seconds: number): Omit<Report, "lost" | "lostAtMs" | "unread"> {
    const shards = this.#ledger.reports();
    return {
      frontEnd: this.#frontEnd.name,
      startedAt: this.#startedAt,
      seconds: Math.round(seconds * 10) / 10,
      due: this.#due,
      acknowledged: this.acknowledged,
      unacknowledged: this.#due - this.acknowledged,
      errors: Object.fromEntries(this.#errors),
      redirects: Object.fromEntries(this.#redirects),
      events: Object.fromEntries(this.#frontEnd.events),
      worstGapMs: Math.max(...shards.map(({ worstGapMs }) => worstGapMs)),
      shards,
      latencyMs: percentiles(this.#ledger.latencies),
    };
  }

  /** Puts every write that is due by now into its shard's queue, shards in turn, and comes back when the next is due. */
  #schedule(): void {
    const everyMs = 1000 / (this.#options.rate ?? 300);
    const now = performance.now();
    let due = this.#began + this.#due * everyMs;
    for (; due <= now; due += everyMs) {
      const crew = this.#crews[this.#due % this.#crews.length];
      crew?.queue.push({ key: keyFor(crew.shard, this.#prefix, this.#due), due });
      this.#due++;
    }
    this.#timer = setTimeout(() => this.#schedule(), due - now);
  }

  async #work(): Promise<void> {
    await Promise.all(
      this.#crews.map(async ({ shard, queue, lanes }) => {
        await Promise.all(lanes.map((lane) => this.#drive({ shard, queue, lanes }, lane)));
        this.#ledger.end(shard, performance.now());
      }),
    );
  }

  async #drive({ shard, queue }: Crew, lane: Lane): Promise<void> {
    for (let write = await queue.take(); write !== undefined && !this.#over; write = await queue.take()) {
      if (!(await this.#insist(lane, write))) return;
      this.#ledger.acknowledge(shard, write.key, { due: write.due, now: performance.now() });
    }
  }

  /** Tries until acknowledged; false when the run was given up first. */
  async #insist(lane: Lane, { key }: Write): Promise<boolean> {
    while (!this.#over) {
      const attempt = await Promise.race([lane.set(key, this.#value(key)), this.#givenUp.promise]);
      if (attempt === undefined) return false;
      if (attempt.done) return true;
      count(attempt.redirect ? this.#redirects : this.#errors, attempt.kind);
      if (!attempt.redirect) await this.#frontEnd.hint();
    }
    return false;
  }

  /** An attempt may hang in a client library for as long as the server does: it is left behind. */
  #giveUp(): void {
    this.#over = true;
    this.#givenUp.resolve(undefined);
  }

  #value(key: string): string {
    return key.padEnd(this.#options.valueBytes ?? 64, ".");
  }
}

/** The prober's survey told the shards; whether it also writes is the caller's choice. */
function chooseFrontEnd(options: WriteOptions, prober: Prober): FrontEnd {
  if (options.frontEnd === "prober") return prober;
  prober.close();
  return new Iovalkey(options, { cluster: prober.topology.cluster });
}

async function hire(shard: Shard, frontEnd: FrontEnd, connections: number): Promise<Crew> {
  const lanes = await Promise.all(Array.from({ length: connections }, () => frontEnd.lane()));
  // A first question opens the connection, so that the first write does not pay for it.
  await Promise.all(lanes.map((lane) => lane.get(keyFor(shard, "wc:warm", 0))));
  return { shard, queue: new WorkQueue<Write>(), lanes };
}
