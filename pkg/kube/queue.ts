/**
 * The work queue behind every controller: keys go in, each is processed by one run at a time.
 *
 * - A key is in the queue once, however often it is added; an add while it runs leads to one more run.
 * - Priority is a head start in time, not a class of its own, so that nothing starves.
 * - A run that fails is retried with a growing wait of its own key; other keys do not notice.
 * - A run that outlasts its deadline is told so by its signal and gives its worker back. If it goes on all the same,
 *   it keeps its key (never two runs of one key) and holds up nobody else.
 */
import { type Clock, systemClock } from "../clock/clock.ts";
import { type Backoff, type BackoffOptions, backoff } from "./queue-backoff.ts";
import type { QueueMetrics } from "./queue-metrics.ts";
import { type Priority, Schedule, type Wish } from "./queue-schedule.ts";

export type { Priority } from "./queue-schedule.ts";

/**
 * News about a failing key end its wait, but not below this: a run whose own writes wake it and that then fails would
 * otherwise spin without any wait.
 */
const NEWS_WAIT_MS = 1000;

export interface AddOptions {
  /** Defaults to "normal". */
  readonly priority?: Priority;
  /** Defaults to 0: at once. The earliest of all adds counts. */
  readonly afterMs?: number;
}

export interface RunResult {
  /** Run again after this long even if nobody adds the key. Defaults to never. */
  readonly requeueAfterMs?: number | undefined;
}

export interface QueueOptions {
  readonly name: string;
  /** Does the work of a key. A rejection is a failure of that key. */
  readonly run: (key: string, signal: AbortSignal) => Promise<RunResult>;
  /** Told of each failure, with the wait that follows. */
  readonly onFailure?: (failure: Failure) => void;
  /** Runs at the same time. Defaults to 4. */
  readonly workers?: number;
  /** How long a run may take. Defaults to 60 s. */
  readonly runDeadlineMs?: number;
  readonly backoff?: BackoffOptions;
  readonly clock?: Clock;
  /** Defaults to Math.random. */
  readonly random?: () => number;
  readonly metrics?: QueueMetrics | undefined;
}

export interface Failure {
  readonly key: string;
  readonly error: unknown;
  readonly failures: number;
  readonly retryInMs: number;
}

interface Run {
  readonly key: string;
  readonly began: number;
  readonly abort: AbortController;
  readonly ended: Promise<void>;
  /** False once the run has outlasted its deadline. */
  holdsWorker: boolean;
}

interface Failing {
  readonly failures: number;
  readonly notBefore: number;
}

type Outcome = { readonly ok: true; readonly result: RunResult } | { readonly ok: false; readonly error: unknown };

export class WorkQueue {
  readonly #options: QueueOptions;
  readonly #clock: Clock;
  readonly #backoff: Backoff;
  readonly #deadlineMs: number;
  readonly #labels: { readonly queue: string };
  readonly #schedule = new Schedule();
  readonly #runs = new Map<string, Run>();
  readonly #failing = new Map<string, Failing>();
  #busyWorkers = 0;
  #state: "idle" | "started" | "stopped" = "idle";
  #timer = { due: Infinity, cancel: () => {} };
  readonly #endScrape: (() => void) | undefined;

  constructor(options: QueueOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#backoff = backoff(options.backoff ?? {}, options.random ?? Math.random);
    this.#deadlineMs = options.runDeadlineMs ?? 60_000;
    this.#labels = { queue: options.name };
    this.#endScrape = options.metrics?.depth.onScrape(() => this.#report());
  }

  /** Keys that could run now and wait for a worker. */
  get depth(): number {
    return this.#schedule.readyCount;
  }

  get runningKeys(): readonly string[] {
    return [...this.#runs.keys()];
  }

  /** How long the oldest run has been going on; 0 when none is. */
  longestRunningMs(): number {
    const now = this.#clock.monotonic();
    return [...this.#runs.values()].reduce((longest, { began }) => Math.max(longest, now - began), 0);
  }

  /** Keys may be added before the start; they wait for it. After the stop they are ignored. */
  add(key: string, options: AddOptions = {}): void {
    if (this.#state === "stopped") return;
    this.#options.metrics?.adds.inc(this.#labels);
    const now = this.#clock.monotonic();
    const due = Math.max(now + Math.max(0, options.afterMs ?? 0), this.#failing.get(key)?.notBefore ?? 0);
    this.#schedule.want({ key, due, priority: options.priority ?? "normal" }, now);
    this.#pump();
  }

  start(): void {
    if (this.#state !== "idle") throw new Error(`queue ${this.#options.name} was started before`);
    this.#state = "started";
    this.#pump();
  }

  /**
   * Starts no further run, waits for the running ones up to `graceMs`, then aborts their signals and waits no longer.
   * Gives the keys whose runs had not ended by then.
   */
  async stop(graceMs: number): Promise<readonly string[]> {
    this.#state = "stopped";
    this.#timer.cancel();
    this.#endScrape?.();
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const cancel = this.#clock.after(graceMs, resolve);
    await Promise.race([late, Promise.all([...this.#runs.values()].map(async ({ ended }) => ended))]);
    cancel();
    const unfinished = this.runningKeys;
    const reason = new Error(`queue ${this.#options.name} is stopped`);
    for (const { abort } of this.#runs.values()) abort.abort(reason);
    return unfinished;
  }

  /** Starts what is due and has a free worker; sets the timer for what comes next. */
  #pump(): void {
    if (this.#state !== "started") return;
    const workers = this.#options.workers ?? 4;
    while (this.#busyWorkers < workers) {
      const wish = this.#schedule.take(this.#clock.monotonic());
      if (wish === undefined) break;
      this.#begin(wish);
    }
    this.#setTimer();
  }

  #setTimer(): void {
    const due = this.#schedule.nextDue();
    if (due === this.#timer.due) return;
    this.#timer.cancel();
    this.#timer = { due, cancel: () => {} };
    if (due === Infinity) return;
    const cancel = this.#clock.after(due - this.#clock.monotonic(), () => {
      this.#timer = { due: Infinity, cancel: () => {} };
      // With every worker busy the key only becomes ready; the end of a run takes it then.
      if (this.#busyWorkers < (this.#options.workers ?? 4)) this.#pump();
    });
    this.#timer = { due, cancel };
  }

  #begin({ key, due }: Wish): void {
    const began = this.#clock.monotonic();
    this.#options.metrics?.latency.observe(this.#labels, (began - due) / 1000);
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    const run: Run = { key, began, abort: new AbortController(), ended, holdsWorker: true };
    this.#busyWorkers += 1;
    this.#schedule.block(key);
    this.#runs.set(key, run);
    const cancel = this.#clock.after(this.#deadlineMs, () => this.#outlasted(run));
    void this.#outcome(run).then((outcome) => {
      cancel();
      this.#end(run, outcome);
      resolve();
    });
  }

  /** Never rejects: a failure is a value. */
  async #outcome({ key, abort }: Run): Promise<Outcome> {
    try {
      return { ok: true, result: await this.#options.run(key, abort.signal) };
    } catch (error) {
      return { ok: false, error };
    }
  }

  #outlasted(run: Run): void {
    run.abort.abort(new Error(`the run of ${run.key} took longer than ${this.#deadlineMs} ms`));
    this.#options.metrics?.stuck.inc(this.#labels);
    this.#freeWorker(run);
    this.#pump();
  }

  #freeWorker(run: Run): void {
    if (run.holdsWorker) this.#busyWorkers -= 1;
    run.holdsWorker = false;
  }

  #end(run: Run, outcome: Outcome): void {
    const now = this.#clock.monotonic();
    this.#freeWorker(run);
    this.#runs.delete(run.key);
    this.#options.metrics?.duration.observe(this.#labels, (now - run.began) / 1000);
    if (outcome.ok) this.#succeeded(run.key, outcome.result, now);
    else this.#failed(run.key, outcome.error, now);
    this.#schedule.unblock(run.key, now);
    this.#pump();
  }

  #succeeded(key: string, { requeueAfterMs }: RunResult, now: number): void {
    this.#failing.delete(key);
    if (requeueAfterMs === undefined) return;
    this.#schedule.want({ key, due: now + Math.max(0, requeueAfterMs), priority: "low" }, now);
  }

  #failed(key: string, error: unknown, now: number): void {
    const failures = (this.#failing.get(key)?.failures ?? 0) + 1;
    const retryInMs = this.#backoff(failures);
    const notBefore = now + Math.min(retryInMs, NEWS_WAIT_MS);
    this.#failing.set(key, { failures, notBefore });
    this.#schedule.postpone(key, notBefore, now);
    this.#schedule.want({ key, due: now + retryInMs, priority: "low" }, now);
    this.#options.metrics?.retries.inc(this.#labels);
    this.#options.onFailure?.({ key, error, failures, retryInMs });
  }

  #report(): void {
    const { metrics } = this.#options;
    metrics?.depth.set(this.#labels, this.#schedule.readyCount);
    metrics?.delayed.set(this.#labels, this.#schedule.delayedCount);
    metrics?.running.set(this.#labels, this.#runs.size);
    metrics?.longestRunning.set(this.#labels, this.longestRunningMs() / 1000);
  }
}
