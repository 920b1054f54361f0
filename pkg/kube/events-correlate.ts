/**
 * Which events are the same one again, which are too many of a kind, and which are too many altogether. Pure apart from
 * what it remembers; the time is given.
 */
import { Limit } from "./events-limit.ts";
import { redactSecrets } from "./events-redact.ts";

export interface EventSubject {
  readonly apiVersion: string;
  readonly kind: string;
  /** Undefined for kinds without a namespace; their events go to "default". */
  readonly namespace?: string | undefined;
  readonly name: string;
  readonly uid?: string | undefined;
}

export interface NewEvent {
  readonly regarding: EventSubject;
  readonly type: "Normal" | "Warning";
  /** One CamelCase word that programs can match: `HandoverDone`. */
  readonly reason: string;
  /** What was being done: `Handover`. */
  readonly action: string;
  readonly note: string;
  /** Events with the same one are the same again. Defaults to the note; give it when the note holds numbers. */
  readonly same?: string | undefined;
}

/** An event and its repetitions. */
export interface EventSeries {
  readonly event: NewEvent;
  /** Milliseconds of the wall clock. */
  readonly firstAt: number;
  lastAt: number;
  count: number;
}

/** What repeats within this time is one series. */
const SERIES_MS = 10 * 60_000;
/** More different notes for one reason than this within that time are combined. */
const SIMILAR = 10;
const PER_OBJECT = { burst: 25, refillMs: 30_000 };
const MOST_SERIES = 4096;
/** Limits of the API. */
const LONGEST_NOTE = 1024;

interface Similar {
  readonly since: number;
  readonly keys: Set<string>;
}

export class EventCorrelator {
  readonly #series = new Map<string, EventSeries>();
  readonly #similar = new Map<string, Similar>();
  readonly #limits = new Map<string, Limit>();

  /** The series the event belongs to, or undefined when there are too many of this object. */
  add(raw: NewEvent, wallMs: number): EventSeries | undefined {
    const event = { ...raw, note: clip(redactSecrets(raw.note.slice(0, 4 * LONGEST_NOTE))) };
    const own = keyOf(event, event.same ?? event.note);
    const combined = this.#isOneOfMany(event, own, wallMs);
    const key = combined ? keyOf(event, "combined") : own;
    const known = this.#series.get(key);
    if (known !== undefined && wallMs - known.lastAt < SERIES_MS) return this.#repeat(key, known, wallMs);
    if (!this.#limitOf(event.regarding, wallMs).take(wallMs)) return undefined;
    const note = combined ? clip(`(combined from similar events) ${event.note}`) : event.note;
    const series = { event: { ...event, note }, firstAt: wallMs, lastAt: wallMs, count: 1 };
    keep(this.#series, key, series);
    return series;
  }

  #repeat(key: string, series: EventSeries, wallMs: number): EventSeries {
    series.count += 1;
    series.lastAt = Math.max(series.lastAt, wallMs);
    keep(this.#series, key, series);
    return series;
  }

  #isOneOfMany(event: NewEvent, own: string, wallMs: number): boolean {
    const group = keyOf(event, "");
    const before = this.#similar.get(group);
    const similar =
      before !== undefined && wallMs - before.since < SERIES_MS ? before : { since: wallMs, keys: new Set<string>() };
    keep(this.#similar, group, similar);
    if (similar.keys.has(own)) return false;
    if (similar.keys.size >= SIMILAR) return true;
    similar.keys.add(own);
    return false;
  }

  #limitOf(regarding: EventSubject, wallMs: number): Limit {
    const key = subjectKey(regarding);
    const limit = this.#limits.get(key) ?? new Limit(PER_OBJECT, wallMs);
    keep(this.#limits, key, limit);
    return limit;
  }
}

/** Puts the entry last and drops the one that was not used for longest. */
function keep<V>(map: Map<string, V>, key: string, value: V): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= MOST_SERIES) return;
  const oldest = map.keys().next();
  if (oldest.done !== true) map.delete(oldest.value);
}

function keyOf(event: NewEvent, same: string): string {
  return JSON.stringify([subjectKey(event.regarding), event.type, event.reason, event.action, same]);
}

function subjectKey({ kind, namespace, name, uid }: EventSubject): string {
  return `${kind}/${namespace ?? ""}/${name}/${uid ?? ""}`;
}

/** The API counts bytes. */
function clip(note: string): string {
  if (Buffer.byteLength(note) <= LONGEST_NOTE) return note;
  let end = LONGEST_NOTE - 4;
  while (Buffer.byteLength(note.slice(0, end)) > LONGEST_NOTE - 4) end -= 1;
  return `${note.slice(0, end)} …`;
}
