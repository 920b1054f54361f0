/** Keeps a store equal to the server: list, watch, compare, and begin again after whatever went wrong. */
import { type Clock, pause, systemClock } from "../clock/clock.ts";
import { missedBy } from "./cache-compare.ts";
import { type CacheOptions, type CacheTiming, DEFAULT_TIMING, type ListReason } from "./cache-options.ts";
import { CacheReader } from "./cache-reader.ts";
import type { CacheChange, CacheStore } from "./cache-store.ts";
import { isOlder, parseVersioned, type Versioned } from "./cache-version.ts";
import type { KubeClient, Selection, WatchEvent } from "./client.ts";
import { isKubeError, KubeError } from "./kube-error.ts";
import { type KubeObject, type Resource, typed } from "./resource.ts";

const PAGE_SIZE = 500;
/** So many refusals in a row of a watch at one version mean that the version is not good any more. */
const REFUSALS_BEFORE_LIST = 3;
/** A comparison is given up when no watch stays open for so many graces. */
const GRACE_TRIES = 20;

/** The watch is given up for a reason of our own; the next thing is a list. */
class Restart extends Error {
  override readonly name = "Restart";
  readonly reason: ListReason;

  constructor(reason: ListReason) {
    super(`a new list is needed: ${reason}`);
    this.reason = reason;
  }
}

export class CacheFollower<T extends KubeObject, I extends string> {
  readonly #client: KubeClient;
  readonly #store: CacheStore<T, I>;
  readonly #options: CacheOptions<T, I>;
  readonly #tell: (changes: readonly CacheChange<T>[]) => void;
  readonly #reader: CacheReader<T, I>;
  readonly #resource: Resource<Versioned>;
  readonly #selection: Selection;
  readonly #timing: CacheTiming;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #firstList = Promise.withResolvers<void>();
  /** The version up to which everything is known; undefined when a list is needed. */
  #position: string | undefined;
  #reason: ListReason = "start";
  /** The newest version that was ever seen. */
  #newest: string | undefined;
  #watching: AbortController | undefined;
  #openSince: number | undefined;
  #wentBack = false;
  #failures = 0;
  #refusals = 0;
  #heardAt: number;
  #synced = false;

  constructor(
    client: KubeClient,
    store: CacheStore<T, I>,
    options: CacheOptions<T, I>,
    tell: (changes: readonly CacheChange<T>[]) => void,
  ) {
    this.#client = client;
    this.#store = store;
    this.#options = options;
    this.#tell = tell;
    this.#resource = typed(options.resource, parseVersioned);
    this.#selection = options.selection ?? {};
    this.#timing = { ...DEFAULT_TIMING, ...options.timing };
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
    this.#heardAt = this.#clock.monotonic();
    this.#reader = new CacheReader(store, {
      page: async (query, signal) => {
        const page = await client.list(this.#resource, { ...this.#selection, ...query }, this.#bounds(signal));
        this.#heard();
        return page;
      },
      pageSize: options.pageSize ?? PAGE_SIZE,
    });
  }

  get synced(): boolean {
    return this.#synced;
  }

  /** The version up to which everything is known; undefined while a list is needed. */
  get upTo(): string | undefined {
    return this.#position;
  }

  get silentMs(): number {
    return this.#clock.monotonic() - this.#heardAt;
  }

  async whenSynced(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { promise, reject } = Promise.withResolvers<never>();
    const onAbort = () => reject(signal.reason instanceof Error ? signal.reason : new Error("aborted"));
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      await Promise.race([this.#firstList.promise, promise]);
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  async run(signal: AbortSignal): Promise<void> {
    const comparing = this.#compareNowAndThen(signal);
    while (!signal.aborted) {
      const wait = await this.#turn(signal);
      if (wait > 0) await pause(this.#clock, wait, signal);
    }
    await comparing;
  }

  /** One list if needed and one watch; gives how long to wait before the next. */
  async #turn(signal: AbortSignal): Promise<number> {
    const began = this.#clock.monotonic();
    try {
      const position = this.#position ?? (await this.#list(signal));
      await this.#watch(position, signal);
      // A server that ends every watch at once must not be asked in a tight circle.
      return this.#clock.monotonic() - began < 1000 ? this.#backoff() : 0;
    } catch (error) {
      return signal.aborted ? 0 : this.#recover(error);
    }
  }

  #recover(error: unknown): number {
    if (error instanceof Restart) return this.#restart(error.reason);
    // Whatever else was thrown while frames were read leaves us not knowing what we know.
    if (!isKubeError(error)) this.#needList("failures");
    const failure = this.#asKubeError(error);
    this.#options.observer?.failed?.(failure.code, failure);
    if (failure.code === "expired") return this.#restart("expired");
    if (isRefusal(failure)) this.#refusals += 1;
    if (this.#refusals >= REFUSALS_BEFORE_LIST) this.#needList("failures");
    return Math.max(this.#backoff(), Math.min(failure.retryAfterMs ?? 0, this.#timing.maxBackoffMs));
  }

  #asKubeError(error: unknown): KubeError {
    if (isKubeError(error)) return error;
    const message = error instanceof Error ? error.message : String(error);
    return new KubeError({ code: "bad-response", action: `follow ${this.#resource.plural}`, message, cause: error });
  }

  #restart(reason: ListReason): number {
    this.#needList(reason);
    // The first goes at once; a second one without any progress in between waits.
    this.#failures += 1;
    return this.#failures > 1 ? this.#backoff() : 0;
  }

  #needList(reason: ListReason): void {
    this.#position = undefined;
    this.#reason = reason;
    this.#refusals = 0;
  }

  /** Between half and all of the doubled time, so that many caches do not come back in step. */
  #backoff(): number {
    const { backoffMs, maxBackoffMs } = this.#timing;
    const full = Math.min(maxBackoffMs, backoffMs * 2 ** Math.min(this.#failures, 30));
    this.#failures += 1;
    return full * (0.5 + 0.5 * this.#random());
  }

  async #list(signal: AbortSignal): Promise<string> {
    const { items, version } = await this.#reader.all(signal);
    this.#refuseToGoBack(version);
    this.#tell(this.#store.replace(items));
    this.#position = version;
    this.#options.observer?.listed?.(this.#reason, this.#store.size);
    if (!this.#synced) {
      this.#synced = true;
      this.#firstList.resolve();
    }
    return version;
  }

  /**
   * A list without a resourceVersion is never older than what was seen before, unless etcd was restored from a backup.
   * One such list may be the fault of something in between; the second is the truth.
   */
  #refuseToGoBack(version: string): void {
    const newest = this.#newest;
    const back = newest !== undefined && isOlder(version, newest);
    if (back && !this.#wentBack) {
      this.#wentBack = true;
      const message = `version ${version} is older than ${newest}, which was seen before`;
      throw new KubeError({ code: "bad-response", action: `list ${this.#resource.plural}`, message });
    }
    this.#wentBack = false;
    this.#newest = version;
  }

  async #watch(position: string, signal: AbortSignal): Promise<void> {
    const { watchMs, idleMs, deadlineMs } = this.#timing;
    const timeoutSeconds = Math.max(1, Math.round((watchMs * (1 + this.#random())) / 1000));
    const query = { ...this.#selection, resourceVersion: position, timeoutSeconds };
    const own = new AbortController();
    const stop = () => own.abort();
    signal.addEventListener("abort", stop, { once: true });
    this.#watching = own;
    try {
      const options = { signal: own.signal, idleMs, deadlineMs, onOpen: () => this.#opened() };
      await this.#client.watch(this.#resource, query, (event) => this.#onEvent(event), options);
      this.#refusals = 0;
    } catch (error) {
      throw signal.aborted || !own.signal.aborted ? error : own.signal.reason;
    } finally {
      signal.removeEventListener("abort", stop);
      this.#watching = undefined;
      this.#openSince = undefined;
    }
  }

  #opened(): void {
    this.#heard();
    this.#openSince = this.#clock.monotonic();
  }

  #onEvent(event: WatchEvent<Versioned>): void {
    this.#heard();
    this.#failures = 0;
    this.#refusals = 0;
    if (event.type === "UNREADABLE") throw event.error;
    this.#options.observer?.frame?.(event.type);
    if (event.type === "BOOKMARK") return this.#advance(event.resourceVersion);
    const { type, object: item } = event;
    const repeated = item.version === this.#position || this.#store.entry(item.key)?.version === item.version;
    // Frames come in the order of their versions. One that does not may have been overtaken by others that are lost.
    if (!repeated && this.#position !== undefined && isOlder(item.version, this.#position))
      throw new Restart("disorder");
    this.#tell(this.#store.apply({ type, item }));
    this.#advance(item.version);
  }

  #advance(version: string): void {
    if (this.#position !== undefined && isOlder(version, this.#position)) return;
    this.#position = version;
    this.#newest = version;
  }

  /** Compares with a fresh list now and then, whatever the watches do meanwhile. */
  async #compareNowAndThen(signal: AbortSignal): Promise<void> {
    const { compareMs } = this.#timing;
    while (await pause(this.#clock, compareMs * (0.8 + 0.4 * this.#random()), signal)) {
      try {
        await this.#compare(signal);
      } catch (error) {
        if (signal.aborted) return;
        const failure = this.#asKubeError(error);
        this.#options.observer?.failed?.(failure.code, failure);
      }
    }
  }

  /** A watch that missed something is given up for a new list. */
  async #compare(signal: AbortSignal): Promise<void> {
    const query = { ...this.#selection, metadataOnly: true };
    const missed = await missedBy(this.#store, {
      read: () => this.#client.listAll(this.#resource, query, this.#bounds(signal)),
      grace: () => this.#grace(signal),
    });
    if (missed === undefined) return;
    this.#options.observer?.compared?.(missed);
    if (missed > 0) this.#watching?.abort(new Restart("missed"));
  }

  /** True once a watch has been open for the whole grace; only then may it be blamed. */
  async #grace(signal: AbortSignal): Promise<boolean> {
    const { graceMs } = this.#timing;
    for (let tries = 0; tries < GRACE_TRIES; tries += 1) {
      if (!(await pause(this.#clock, graceMs, signal))) return false;
      if (this.#openSince !== undefined && this.#clock.monotonic() - this.#openSince >= graceMs) return true;
    }
    return false;
  }

  #bounds(signal: AbortSignal): { signal: AbortSignal; deadlineMs: number } {
    return { signal, deadlineMs: this.#timing.deadlineMs };
  }

  #heard(): void {
    this.#heardAt = this.#clock.monotonic();
  }
}

/** The server answered, not because it was busy, or sent what would be sent again from the same version. */
function isRefusal(error: KubeError): boolean {
  return error.code === "bad-response" || (error.status !== 0 && error.code !== "too-many-requests");
}
