/**
 * A cache of one kind: all objects of a selection, as projected, kept equal to the API server.
 *
 * It lists in pages, then watches. A broken, silent or expired watch is begun again where it stopped, or after a new
 * list; frames in the wrong order lead to a new list. Every few minutes it compares itself with a fresh list, counts
 * what the watch had missed, and repairs it. Subscribers hear every change once, in order.
 */
import { CacheFollower } from "./cache-follower.ts";
import type { CacheOptions } from "./cache-options.ts";
import { type CacheChange, CacheStore } from "./cache-store.ts";
import type { KubeClient } from "./client.ts";
import { type KubeObject, keyOfRef, type ObjectRef, type Resource } from "./resource.ts";

export type { CacheObserver, CacheOptions, CacheTiming, ListReason } from "./cache-options.ts";
export type { CacheChange } from "./cache-store.ts";

export type Subscriber<T> = (change: CacheChange<T>) => void;

export class Cache<T extends KubeObject, I extends string = never> {
  readonly resource: Resource<T>;
  readonly #store: CacheStore<T, I>;
  readonly #follower: CacheFollower<T, I>;
  readonly #options: CacheOptions<T, I>;
  readonly #subscribers = new Set<Subscriber<T>>();

  constructor(client: KubeClient, options: CacheOptions<T, I>) {
    this.resource = options.resource;
    this.#options = options;
    this.#store = new CacheStore<T, I>({
      project: options.resource.parse,
      indexes: options.indexes,
      onUnreadable: (key, error) => options.observer?.unreadable?.(key, error),
    });
    this.#follower = new CacheFollower(client, this.#store, options, (changes) => this.#tell(changes));
  }

  /** Follows the server until the signal is aborted; throws only what the observer throws. To be called once. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#follower.run(signal);
  }

  /** True once a complete list has been read. */
  get synced(): boolean {
    return this.#follower.synced;
  }

  /** Resolves when synced; rejects when the signal is aborted first. */
  async whenSynced(signal: AbortSignal): Promise<void> {
    await this.#follower.whenSynced(signal);
  }

  /** Milliseconds since the server was last heard of; for readiness. */
  get silentMs(): number {
    return this.#follower.silentMs;
  }

  /** The version up to which everything was seen; undefined while a list is needed. For expectations. */
  get upTo(): string | undefined {
    return this.#follower.upTo;
  }

  get size(): number {
    return this.#store.size;
  }

  get(ref: ObjectRef): T | undefined {
    return this.#store.entry(keyOfRef(ref))?.object;
  }

  byKey(key: string): T | undefined {
    return this.#store.entry(key)?.object;
  }

  /** All of them, in no order that means anything. */
  list(): T[] {
    return this.#objects(this.#store.entries().keys());
  }

  byIndex(index: I, value: string): T[] {
    return this.#objects(this.#store.index(index).keys(value));
  }

  /** Hears what is there as additions, then every change. The function returned ends it. */
  subscribe(subscriber: Subscriber<T>): () => void {
    this.#subscribers.add(subscriber);
    for (const object of this.list()) this.#call(subscriber, { type: "add", object });
    return () => void this.#subscribers.delete(subscriber);
  }

  #objects(keys: Iterable<string>): T[] {
    const objects: T[] = [];
    for (const key of keys) {
      const object = this.#store.entry(key)?.object;
      if (object !== undefined) objects.push(object);
    }
    return objects;
  }

  #tell(changes: readonly CacheChange<T>[]): void {
    for (const change of changes) {
      for (const subscriber of this.#subscribers) this.#call(subscriber, change);
    }
  }

  #call(subscriber: Subscriber<T>, change: CacheChange<T>): void {
    try {
      subscriber(change);
    } catch (error) {
      this.#options.observer?.subscriberFailed?.(error);
    }
  }
}
