/**
 * Single objects that somebody else owns and that one of ours names: a root of the user's own, a certificate that
 * another program renews. They carry no label to select them by and none is put on them, so each is watched by its name.
 */

import { Cache, type CacheObserver } from "./cache.ts";
import type { KubeClient } from "./client.ts";
import type { ObjectCache, ObjectChange } from "./controller-source.ts";
import { type KubeObject, keyOfRef, type ObjectRef, type Resource } from "./resource.ts";

export interface NamedCachesOptions<T extends KubeObject> {
  readonly resource: Resource<T>;
  readonly observer?: CacheObserver;
}

/** "unknown": it was not asked for yet, or the server has not answered. */
export type Named<T> =
  | { readonly is: "unknown" }
  | { readonly is: "absent" }
  | { readonly is: "there"; readonly object: T };

interface Watched<T extends KubeObject> {
  readonly cache: Cache<T>;
  readonly users: Set<string>;
  readonly end: AbortController;
}

export class NamedCaches<T extends KubeObject> implements ObjectCache<T> {
  readonly #client: KubeClient;
  readonly #options: NamedCachesOptions<T>;
  readonly #watched = new Map<string, Watched<T>>();
  readonly #subscribers = new Set<(change: ObjectChange<T>) => void>();
  readonly #synced = new Set<(key: string) => void>();
  readonly #running = new Set<Promise<void>>();
  #life: AbortSignal | undefined;

  constructor(client: KubeClient, options: NamedCachesOptions<T>) {
    this.#client = client;
    this.#options = options;
  }

  /** From now on `user` needs exactly these; what nobody needs any more is not watched any more. */
  want(user: string, refs: readonly ObjectRef[]): void {
    const keys = new Set(refs.map(keyOfRef));
    for (const [key, watched] of this.#watched) {
      if (!keys.has(key) && watched.users.delete(user) && watched.users.size === 0) this.#forget(key, watched);
    }
    for (const ref of refs) {
      const known = this.#watched.get(keyOfRef(ref));
      if (known === undefined) this.#begin(ref, user);
      else known.users.add(user);
    }
  }

  find(ref: ObjectRef): Named<T> {
    const cache = this.#watched.get(keyOfRef(ref))?.cache;
    if (cache === undefined || !cache.synced) return { is: "unknown" };
    const object = cache.get(ref);
    return object === undefined ? { is: "absent" } : { is: "there", object };
  }

  get synced(): boolean {
    return [...this.#watched.values()].every(({ cache }) => cache.synced);
  }

  byKey(key: string): T | undefined {
    return this.#watched.get(key)?.cache.byKey(key);
  }

  list(): T[] {
    return [...this.#watched.values()].flatMap(({ cache }) => cache.list());
  }

  subscribe(on: (change: ObjectChange<T>) => void): () => void {
    this.#subscribers.add(on);
    for (const object of this.list()) on({ type: "add", object });
    return () => void this.#subscribers.delete(on);
  }

  /** Called with the key when it is known for the first time whether an object is there: absence is no change. */
  onKnown(on: (key: string) => void): () => void {
    this.#synced.add(on);
    return () => void this.#synced.delete(on);
  }

  /** Until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    this.#life = signal;
    for (const [key, watched] of this.#watched) this.#start(key, watched, signal);
    const { promise, resolve } = Promise.withResolvers<void>();
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
    await promise;
    await Promise.all(this.#running);
  }

  /** Resolves when all that are wanted now are known. */
  async whenSynced(signal: AbortSignal): Promise<void> {
    await Promise.all([...this.#watched.values()].map(async ({ cache }) => cache.whenSynced(signal)));
  }

  #begin(ref: ObjectRef, user: string): void {
    const key = keyOfRef(ref);
    const selection = { namespace: ref.namespace, fieldSelector: `metadata.name=${ref.name}` };
    const cache = new Cache<T>(this.#client, { ...this.#options, selection });
    const watched = { cache, users: new Set([user]), end: new AbortController() };
    this.#watched.set(key, watched);
    cache.subscribe((change) => {
      for (const subscriber of this.#subscribers) subscriber(change);
    });
    if (this.#life !== undefined) this.#start(key, watched, this.#life);
  }

  #start(key: string, { cache, end }: Watched<T>, life: AbortSignal): void {
    const signal = AbortSignal.any([life, end.signal]);
    const running = Promise.all([cache.run(signal), this.#tellWhenKnown(key, cache, signal)]).then(() => {
      this.#running.delete(running);
    });
    this.#running.add(running);
  }

  async #tellWhenKnown(key: string, cache: Cache<T>, signal: AbortSignal): Promise<void> {
    try {
      await cache.whenSynced(signal);
    } catch (error) {
      if (signal.aborted) return;
      throw error;
    }
    for (const listener of this.#synced) listener(key);
  }

  #forget(key: string, { end }: Watched<T>): void {
    this.#watched.delete(key);
    end.abort(new Error("nobody needs it any more"));
  }
}
