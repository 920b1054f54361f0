/**
 * Leader election on a Lease. One replica leads a term at a time; the others watch the Lease and take it over at once
 * when it is released, or when its claim has not changed for its whole duration.
 *
 * - No clock of another machine is believed: how old a claim is counts from the moment this process saw it change.
 * - A term ends by itself when it was not renewed for `renewDeadline`, which is shorter than the lease: the old leader
 *   stops before the next one begins (see Term).
 * - Every write carries the resourceVersion that it was decided on; of two that want the lease, one gets it.
 * - Every term has a higher token than all before it, kept in `leaseTransitions` (see nextToken).
 */
import { type Clock, pause, systemClock } from "../clock/clock.ts";
import { Wakeup } from "../clock/wakeup.ts";
import type { Logger } from "../log/log.ts";
import { isOlder } from "./cache-version.ts";
import { isKubeError } from "./kube-error.ts";
import type { LeaseMetrics } from "./lease-metrics.ts";
import { type LeaseClaim, type LeaseRecord, microTime, nextToken, sameClaim, untilNextToken } from "./lease-record.ts";
import type { CallLimits, LeaseSighting, LeaseStore } from "./lease-store.ts";
import { momentOf, Term } from "./lease-term.ts";

export interface ElectorOptions {
  readonly store: LeaseStore;
  /** Must be another one for every process, restarts included: `<pod>_<random>`. */
  readonly identity: string;
  readonly log: Logger;
  /** How long others wait for a silent leader. Defaults to 15 s. */
  readonly leaseDurationMs?: number;
  /** How long a leader leads without a renewal. Defaults to 10 s; must be shorter than the lease. */
  readonly renewDeadlineMs?: number;
  /** Between renewals, and between looks of those who wait. Defaults to 2 s. */
  readonly retryPeriodMs?: number;
  readonly clock?: Clock;
  /** Defaults to Math.random. */
  readonly random?: () => number;
  readonly metrics?: LeaseMetrics | undefined;
}

/** Leads until the term or the elector's signal ends; the lease is released when it has returned. */
export type Lead = (term: Term) => Promise<void>;

/** However long a record claims to last, a silent holder is not waited for longer than this. */
const LONGEST_LEASE_MS = 5 * 60_000;

interface Seen {
  readonly record: LeaseRecord | undefined;
  /** When the claim in it was first seen. */
  readonly at: number;
}

export class LeaderElector {
  readonly #options: ElectorOptions;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #leaseMs: number;
  readonly #renewMs: number;
  readonly #retryMs: number;
  readonly #labels: { readonly lease: string };
  readonly #news = new Wakeup();
  #seen: Seen | undefined;
  #heardAt = -Infinity;
  #highestToken = 0;

  constructor(options: ElectorOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
    this.#leaseMs = options.leaseDurationMs ?? 15_000;
    this.#renewMs = options.renewDeadlineMs ?? 10_000;
    this.#retryMs = options.retryPeriodMs ?? 2000;
    this.#labels = { lease: options.store.name };
    if (!(this.#retryMs < this.#renewMs && this.#renewMs < this.#leaseMs)) {
      throw new RangeError("leader election needs retryPeriod < renewDeadline < leaseDuration");
    }
  }

  /** Who holds the lease as far as this process has seen, itself included. */
  get holder(): { readonly identity: string; readonly token: number } | undefined {
    const record = this.#seen?.record;
    return record === undefined || record.holder === ""
      ? undefined
      : { identity: record.holder, token: record.transitions };
  }

  /** Waits for the lease, leads, releases it, and waits again, until the signal is aborted. */
  async run(lead: Lead, signal: AbortSignal): Promise<void> {
    const life = new AbortController();
    this.#options.metrics?.leading.set(this.#labels, 0);
    const watching = this.#watch(life.signal);
    try {
      while (!signal.aborted) {
        const term = await this.#acquire(signal);
        if (term !== undefined) await this.#serve(term, signal.aborted ? async () => {} : lead);
      }
    } finally {
      life.abort();
      await watching;
    }
  }

  async #serve(term: Term, lead: Lead): Promise<void> {
    const { log, metrics } = this.#options;
    log.info({ lease: this.#options.store.name, term: term.token }, "leading");
    metrics?.leading.set(this.#labels, 1);
    metrics?.token.set(this.#labels, term.token);
    metrics?.terms.inc(this.#labels);
    const done = new AbortController();
    const over = AbortSignal.any([term.signal, done.signal]);
    const renewing = Promise.all([this.#keep(term, over), this.#expire(term, over)]);
    try {
      await lead(term);
    } finally {
      done.abort();
      await renewing;
      // Ended before it is given back: what still runs of this term must not command any more when the next one begins.
      const held = term.valid();
      term.end("released");
      if (held) await this.#release();
      metrics?.leading.set(this.#labels, 0);
      log.info({ lease: this.#options.store.name, term: term.token }, "leading no more");
    }
  }

  async #acquire(signal: AbortSignal): Promise<Term | undefined> {
    while (!signal.aborted) {
      const term = await this.#tryAcquire(signal);
      if (term !== undefined) return term;
      const jittered = this.#retryMs * (1 + 0.2 * this.#random());
      // Wakes when the claim runs out, if that is sooner than the next look, and at any change.
      await this.#news.wait(this.#clock, Math.min(jittered, this.#untilFree() || jittered), signal);
    }
    return undefined;
  }

  async #tryAcquire(signal: AbortSignal): Promise<Term | undefined> {
    const limits = { signal, deadlineMs: this.#renewMs / 2 };
    try {
      // The watch tells what happens; when it has been silent for longer than a renewal takes, it may be broken.
      if (this.#clock.monotonic() - this.#heardAt > this.#retryMs)
        this.#observe(await this.#options.store.read(limits));
      if (this.#untilFree() > 0) return undefined;
      const previous = this.#seen?.record;
      if (this.#highestToken === 0) await pause(this.#clock, untilNextToken(this.#clock.wall()), signal);
      if (signal.aborted) return undefined;
      const since = momentOf(this.#clock);
      const token = nextToken(Math.max(previous?.transitions ?? 0, this.#highestToken), since.wall);
      const time = microTime(since.wall);
      const claim = this.#claim({ transitions: token, acquiredAt: time, renewedAt: time });
      this.#wrote(await this.#options.store.write(claim, previous, this.#toTheEnd(limits.deadlineMs)));
      const term = new Term({ clock: this.#clock, token, renewDeadlineMs: this.#renewMs, since });
      return term.valid() ? term : undefined;
    } catch (error) {
      this.#trouble(error, "cannot acquire the lease");
      return undefined;
    }
  }

  /**
   * A write is never cut off: one that the server carries out all the same would leave a lease that nobody knows to hold,
   * or a version that the release does not know.
   */
  #toTheEnd(deadlineMs: number): CallLimits {
    return { signal: new AbortController().signal, deadlineMs };
  }

  #claim(claim: Omit<LeaseClaim, "holder" | "durationMs">): LeaseClaim {
    return { ...claim, holder: this.#options.identity, durationMs: this.#leaseMs };
  }

  /** How long the claim as last seen must be respected yet. */
  #untilFree(): number {
    if (this.#seen === undefined) return 0;
    const { record, at } = this.#seen;
    if (record !== undefined && (record.holder === "" || record.holder === this.#options.identity)) return 0;
    const claimed = record === undefined || record.durationMs <= 0 ? this.#leaseMs : record.durationMs;
    return Math.max(0, at + Math.min(claimed, LONGEST_LEASE_MS) - this.#clock.monotonic());
  }

  /** Answers and watch frames may overtake each other: an older state never replaces a newer one. */
  #observe({ record, resourceVersion }: LeaseSighting): void {
    const before = this.#seen;
    const known = before?.record?.resourceVersion;
    if (known !== undefined && resourceVersion !== undefined && isOlder(resourceVersion, known)) return;
    this.#highestToken = Math.max(this.#highestToken, record?.transitions ?? 0);
    this.#seen = { record, at: this.#seenAt(before, record) };
    this.#heardAt = this.#clock.monotonic();
    this.#news.notify();
  }

  #wrote(record: LeaseRecord): void {
    this.#observe({ record, resourceVersion: record.resourceVersion });
  }

  #seenAt(before: Seen | undefined, record: LeaseRecord | undefined): number {
    // Absent at the first look: nobody to wait for. Deleted later: its holder may not know yet, so the claim counts on.
    if (record === undefined) return before === undefined ? -Infinity : before.at;
    const same = before?.record !== undefined && sameClaim(before.record, record);
    return same ? before.at : this.#clock.monotonic();
  }

  /** Renews the term until it is over or the signal ends; ends it when another holds the lease or none is there. */
  async #keep(term: Term, signal: AbortSignal): Promise<void> {
    let waitMs = this.#retryMs;
    while (!signal.aborted) {
      await this.#news.wait(this.#clock, waitMs, signal, () => !this.#holds());
      if (signal.aborted) return;
      if (!this.#holds()) term.end(`the lease is held by ${this.holder?.identity ?? "nobody"}`);
      else if (term.valid()) waitMs = (await this.#renew(term)) ? this.#retryMs : this.#retryMs / 4;
    }
  }

  /** Ends the term at its deadline, also while a renewal hangs. */
  async #expire(term: Term, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await pause(this.#clock, Math.max(1, term.remainingMs()), signal);
      if (!term.valid()) term.end(`the lease was not renewed for ${this.#renewMs} ms`);
    }
  }

  #holds(): boolean {
    return this.#seen?.record?.holder === this.#options.identity;
  }

  async #renew(term: Term): Promise<boolean> {
    const sent = momentOf(this.#clock);
    const previous = this.#seen?.record;
    if (previous === undefined) return false;
    const limits = this.#toTheEnd(Math.max(1, Math.min(this.#renewMs / 3, term.remainingMs())));
    const claim = this.#claim({ ...previous, transitions: term.token, renewedAt: microTime(sent.wall) });
    try {
      this.#wrote(await this.#options.store.write(claim, previous, limits));
      term.renewed(sent);
      return true;
    } catch (error) {
      this.#options.metrics?.renewFailures.inc(this.#labels);
      this.#trouble(error, "cannot renew the lease");
      // Somebody changed the Lease, or an earlier renewal got through without its answer: look before the next one.
      if (isKubeError(error, "conflict", "not-found")) await this.#look(limits);
      return false;
    }
  }

  async #look(limits: CallLimits): Promise<void> {
    try {
      this.#observe(await this.#options.store.read(limits));
    } catch (error) {
      this.#trouble(error, "cannot read the lease");
    }
  }

  /** Gives the lease back so that the next one need not wait for it to run out. */
  async #release(): Promise<void> {
    const limits = this.#toTheEnd(Math.min(2000, this.#retryMs));
    for (let attempt = 0; attempt < 2 && this.#holds(); attempt += 1) {
      if (await this.#tryRelease(limits)) return;
      await this.#look(limits);
    }
  }

  async #tryRelease(limits: CallLimits): Promise<boolean> {
    const previous = this.#seen?.record;
    if (previous === undefined) return false;
    const time = microTime(this.#clock.wall());
    const { transitions } = previous;
    try {
      const claim = { holder: "", durationMs: 1000, transitions, acquiredAt: time, renewedAt: time };
      this.#wrote(await this.#options.store.write(claim, previous, limits));
      return true;
    } catch (error) {
      this.#trouble(error, "cannot release the lease");
      return false;
    }
  }

  async #watch(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#options.store.watch((sighting) => this.#observe(sighting), signal);
      } catch (error) {
        if (!signal.aborted) this.#trouble(error, "the watch on the lease broke");
      }
      await pause(this.#clock, this.#retryMs * (0.5 + this.#random()), signal);
    }
  }

  #trouble(error: unknown, what: string): void {
    const expected = isKubeError(error, "conflict", "already-exists", "aborted");
    this.#options.log[expected ? "debug" : "warn"]({ lease: this.#options.store.name, err: error }, what);
  }
}
