/**
 * What a cache must show before it is believed again. After a write of our own the cache is behind for a moment; who
 * decides on it then does the same thing twice. So each write leaves an expectation under the key it was made for, and
 * that key is not decided on until the caches show all of them, or a timeout says that they never will.
 */
import { type Clock, systemClock } from "../clock/clock.ts";
import type { Counter } from "../metrics/metrics.ts";
import { compareVersions, isOlder } from "./cache-version.ts";
import { type KubeObject, keyOf, type ResourceName } from "./resource.ts";

export interface ExpectationsOptions {
  /** After this long the cache is believed all the same, and the miss is counted. Defaults to 30 s. */
  readonly timeoutMs?: number;
  readonly clock?: Clock;
  readonly timeouts?: Counter | undefined;
}

/** What a cache shows now for a key; undefined when the object is not there. */
export type Show = (key: string) => KubeObject | undefined;
/** The version up to which a cache has seen everything; undefined when that is not known. */
export type UpTo = () => string | undefined;

interface Watcher {
  readonly show: Show;
  readonly upTo: UpTo;
}

interface Expectation {
  readonly resource: string;
  readonly key: string;
  readonly uid: string;
  /** The version of our write; "gone" after a delete. */
  readonly version: string;
  readonly since: number;
  readonly until: number;
}

/** Of several caches one may be quiet and tell no version: a write that none shows is waited for this long at least. */
const VANISHED_AFTER_MS = 2000;

export class Expectations {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #timeouts: Counter | undefined;
  readonly #watchers = new Map<string, Watcher[]>();
  readonly #byOwner = new Map<string, Expectation[]>();

  constructor(options: ExpectationsOptions = {}) {
    this.#clock = options.clock ?? systemClock;
    this.#timeoutMs = options.timeoutMs ?? 30_000;
    this.#timeouts = options.timeouts;
  }

  /**
   * From here on writes of this kind are expected to show up there. Kinds without a cache are expected nowhere; of a kind
   * with several caches, each with a selection of its own, it is enough that one of them shows a write. With `upTo` it is
   * also known when an object was there and is gone again, deleted or out of the selection.
   */
  watchedBy(resource: ResourceName, show: Show, upTo: UpTo = () => undefined): void {
    const name = nameOf(resource);
    this.#watchers.set(name, [...(this.#watchers.get(name) ?? []), { show, upTo }]);
  }

  /** `owner` (a key of a controller) wrote the object, which came back like this. */
  wrote(owner: string, resource: ResourceName, object: KubeObject): void {
    const { uid = "", resourceVersion = "" } = object.metadata;
    this.#expect(owner, resource, { key: keyOf(object), uid, version: resourceVersion });
  }

  /** `owner` deleted the object for good: it must vanish, or be another one. */
  deleted(owner: string, resource: ResourceName, object: KubeObject): void {
    this.#expect(owner, resource, { key: keyOf(object), uid: object.metadata.uid ?? "", version: "gone" });
  }

  /** 0 when the caches show all that `owner` wrote; otherwise how long it has to wait for them at most. */
  pendingMs(owner: string): number {
    const open = this.#byOwner.get(owner);
    if (open === undefined) return 0;
    const now = this.#clock.monotonic();
    const rest = open.filter((each) => !this.#isShown(each));
    const waiting = rest.filter(({ until }) => until > now);
    if (waiting.length < rest.length) this.#timeouts?.inc({}, rest.length - waiting.length);
    if (waiting.length === 0) this.#byOwner.delete(owner);
    else this.#byOwner.set(owner, waiting);
    return waiting.reduce((longest, { until }) => Math.max(longest, until - now), 0);
  }

  forget(owner: string): void {
    this.#byOwner.delete(owner);
  }

  #expect(owner: string, resource: ResourceName, what: Pick<Expectation, "key" | "uid" | "version">): void {
    const name = nameOf(resource);
    if (!this.#watchers.has(name)) return;
    const since = this.#clock.monotonic();
    const until = since + this.#timeoutMs;
    // A newer write to the same object says all that an older one did.
    const others = (this.#byOwner.get(owner) ?? []).filter((each) => each.resource !== name || each.key !== what.key);
    this.#byOwner.set(owner, [...others, { ...what, resource: name, since, until }]);
  }

  #isShown({ resource, key, uid, version, since }: Expectation): boolean {
    const watchers = this.#watchers.get(resource) ?? [];
    const shown = watchers.flatMap(({ show }) => show(key)?.metadata ?? []);
    if (version === "gone") return shown.every((one) => one.uid !== uid);
    // Whoever deleted or relabelled it since then is not waited for.
    if (shown.length === 0) {
      const passed = watchers.filter(({ upTo }) => hasPassed(upTo(), version)).length;
      const late = this.#clock.monotonic() - since >= VANISHED_AFTER_MS;
      return passed === watchers.length || (late && passed > 0);
    }
    // Another uid in its place is newer than ours: a cache never goes back to an older object.
    return shown.some(({ resourceVersion = "" }) => !isOlder(resourceVersion, version));
  }
}

function hasPassed(upTo: string | undefined, version: string): boolean {
  return upTo !== undefined && (compareVersions(upTo, version) ?? -1) >= 0;
}

function nameOf({ group, plural }: ResourceName): string {
  return `${plural}.${group}`;
}
