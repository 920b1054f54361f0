/**
 * Events (events.k8s.io/v1): what the operator does and why, told beside the object it is about.
 *
 * Recording never waits and never fails: events go through a bounded line to a writer in the background. The same event
 * again becomes a series on the first one; too many of a kind are combined, too many of an object dropped and counted.
 * Secrets are taken out of every note.
 */
import { type Clock, systemClock } from "../clock/clock.ts";
import { Wakeup } from "../clock/wakeup.ts";
import type { Logger } from "../log/log.ts";
import type { Counter, Registry } from "../metrics/metrics.ts";
import type { KubeClient, NewBody } from "./client.ts";
import { EventCorrelator, type EventSeries, type NewEvent } from "./events-correlate.ts";
import { Limit } from "./events-limit.ts";
import { isKubeError } from "./kube-error.ts";
import { microTime } from "./lease-record.ts";
import { EVENTS, type ObjectRef } from "./resource.ts";

export type { EventSubject, NewEvent } from "./events-correlate.ts";

export interface RecorderOptions {
  readonly store: EventStore;
  /** Which of our programs tells this: `valkey.io/operator`. */
  readonly controller: string;
  /** Which of its replicas: the pod's name. */
  readonly instance: string;
  readonly log: Logger;
  readonly clock?: Clock;
  readonly metrics?: EventMetrics | undefined;
  /** Between two writes of one series. Defaults to 30 s. */
  readonly seriesMs?: number;
}

/** Where events are written. */
export interface EventStore {
  create(event: NewBody, deadlineMs: number): Promise<void>;
  update(ref: ObjectRef, change: object, deadlineMs: number): Promise<void>;
}

export function eventStore(client: KubeClient): EventStore {
  return {
    create: async (event, deadlineMs) => void (await client.create(EVENTS, event, { deadlineMs })),
    update: async (ref, change, deadlineMs) =>
      void (await client.patch(EVENTS, ref, { type: "merge", body: change }, { deadlineMs })),
  };
}

export interface EventMetrics {
  readonly events: Counter<"outcome">;
}

export function eventMetrics(registry: Registry): EventMetrics {
  const labels = ["outcome"] as const;
  return { events: registry.counter({ name: "events_total", help: "Events by what became of them.", labels }) };
}

/** What the server was told of a series. */
interface Told {
  readonly ref: Required<ObjectRef>;
  count: number;
  at: number;
}

interface Waiting {
  readonly series: EventSeries;
  due: number;
  tries: number;
}

const LONGEST_LINE = 1000;
const TRIES = 5;
const PACE = { burst: 50, refillMs: 100 };
const WRITE_DEADLINE_MS = 5000;

export class EventRecorder {
  readonly #options: RecorderOptions;
  readonly #clock: Clock;
  readonly #correlator = new EventCorrelator();
  readonly #line = new Map<EventSeries, Waiting>();
  readonly #told = new WeakMap<EventSeries, Told>();
  readonly #news = new Wakeup();
  readonly #pace: Limit;

  constructor(options: RecorderOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#pace = new Limit(PACE, this.#clock.monotonic());
  }

  record(event: NewEvent): void {
    const series = this.#correlator.add(event, this.#clock.wall());
    if (series === undefined) return this.#count("dropped");
    if (this.#line.has(series)) return this.#count("merged");
    if (this.#line.size >= LONGEST_LINE) return this.#count("dropped");
    this.#count("queued");
    const told = this.#told.get(series);
    const due = told === undefined ? 0 : told.at + (this.#options.seriesMs ?? 30_000);
    this.#line.set(series, { series, due, tries: 0 });
    this.#news.notify();
  }

  /** Writes events until the signal is aborted, then what is left of new ones for `graceMs` more. */
  async run(signal: AbortSignal, graceMs = 1000): Promise<void> {
    while (!signal.aborted) {
      const waitMs = this.#waitMs();
      if (waitMs > 0) await this.#news.wait(this.#clock, waitMs, signal);
      else await this.#writeNext(WRITE_DEADLINE_MS);
    }
    const end = this.#clock.monotonic() + graceMs;
    for (const waiting of this.#line.values()) waiting.due = 0;
    for (let left = graceMs; left > 0 && this.#line.size > 0; left = end - this.#clock.monotonic()) {
      await this.#writeNext(Math.min(left, WRITE_DEADLINE_MS));
    }
  }

  /** Until something is due and the pace allows it. */
  #waitMs(): number {
    const now = this.#clock.monotonic();
    let due = Infinity;
    for (const waiting of this.#line.values()) due = Math.min(due, waiting.due);
    return due === Infinity ? 60_000 : Math.max(due - now, this.#pace.waitMs(now));
  }

  async #writeNext(deadlineMs: number): Promise<void> {
    const now = this.#clock.monotonic();
    for (const waiting of this.#line.values()) {
      if (waiting.due > now) continue;
      this.#pace.take(now);
      this.#line.delete(waiting.series);
      await this.#write(waiting, deadlineMs);
      return;
    }
  }

  async #write(waiting: Waiting, deadlineMs: number): Promise<void> {
    const { series } = waiting;
    const { count } = series;
    try {
      const ref = await this.#send(series, deadlineMs);
      this.#told.set(series, { ref, count, at: this.#clock.monotonic() });
      this.#count("written");
      if (series.count > count) this.#again(waiting, this.#options.seriesMs ?? 30_000);
    } catch (error) {
      this.#failed(waiting, error);
    }
  }

  async #send(series: EventSeries, deadlineMs: number): Promise<Required<ObjectRef>> {
    const told = this.#told.get(series);
    if (told === undefined) return this.#create(series, deadlineMs);
    try {
      await this.#options.store.update(told.ref, { series: seriesBody(series) }, deadlineMs);
      return told.ref;
    } catch (error) {
      // The server forgets events after an hour.
      if (isKubeError(error, "not-found")) return this.#create(series, deadlineMs);
      throw error;
    }
  }

  async #create(series: EventSeries, deadlineMs: number): Promise<Required<ObjectRef>> {
    const { regarding, type, reason, action, note } = series.event;
    const namespace = regarding.namespace ?? "default";
    const name = `${regarding.name.slice(0, 200)}.${crypto.randomUUID().slice(0, 18).replaceAll("-", "")}`;
    const body = {
      metadata: { namespace, name },
      eventTime: microTime(series.firstAt),
      reportingController: this.#options.controller,
      reportingInstance: this.#options.instance,
      regarding,
      type,
      reason,
      action,
      note,
      ...(series.count > 1 ? { series: seriesBody(series) } : {}),
    };
    await this.#options.store.create(body, deadlineMs);
    return { namespace, name };
  }

  #failed(waiting: Waiting, error: unknown): void {
    const lasting = isKubeError(error, "forbidden", "invalid", "bad-request", "not-found", "unauthorized");
    if (!lasting && waiting.tries < TRIES) {
      this.#again({ ...waiting, tries: waiting.tries + 1 }, 1000 * 2 ** waiting.tries);
      return;
    }
    this.#count("failed");
    this.#options.log.warn({ err: error, reason: waiting.series.event.reason }, "cannot write an event");
  }

  /** Unless the series came into the line again meanwhile. */
  #again(waiting: Waiting, inMs: number): void {
    if (this.#line.has(waiting.series)) return;
    this.#line.set(waiting.series, { ...waiting, due: this.#clock.monotonic() + inMs });
  }

  #count(outcome: "queued" | "merged" | "dropped" | "written" | "failed"): void {
    this.#options.metrics?.events.inc({ outcome });
  }
}

function seriesBody({ count, lastAt }: EventSeries): object {
  return { count, lastObservedTime: microTime(lastAt) };
}
