/** What wakes a controller: changes of cached objects, turned into keys. */
import type { Priority } from "./queue.ts";
import type { KubeObject } from "./resource.ts";

/** What a controller needs of a cache. */
export interface ObjectCache<T extends KubeObject> {
  readonly synced: boolean;
  byKey(key: string): T | undefined;
  list(): readonly T[];
  /** Hears what is there as additions, then every change. The function returned ends it. */
  subscribe(on: (change: ObjectChange<T>) => void): () => void;
}

export interface ObjectChange<T> {
  readonly type: "add" | "update" | "delete";
  /** As it is now; of a deletion, as it was last. */
  readonly object: T;
  /** As it was before an update. */
  readonly old?: T | undefined;
}

export interface Source {
  subscribe(wake: (key: string, priority: Priority) => void): () => void;
}

export interface WatchesOptions {
  /** Of updates and deletions; what is there at the start is always "low". Defaults to "normal". */
  readonly priority?: Priority;
}

/** Wakes the keys of both states of a changed object, so that a former owner hears of its loss. */
export function watches<T extends KubeObject>(
  cache: ObjectCache<T>,
  keysOf: (object: T) => Iterable<string>,
  options: WatchesOptions = {},
): Source {
  const { priority = "normal" } = options;
  return {
    subscribe: (wake) => {
      let starting = true;
      const end = cache.subscribe(({ object, old }) => {
        const keys = new Set([...keysOf(object), ...(old === undefined ? [] : keysOf(old))]);
        for (const key of keys) wake(key, starting ? "low" : priority);
      });
      starting = false;
      return end;
    },
  };
}
