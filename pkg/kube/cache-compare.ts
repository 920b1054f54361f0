/** Compares a store with a fresh list while its watch goes on, and counts what the watch had not shown. */
import type { CacheStore } from "./cache-store.ts";
import { isOlder, type Versioned } from "./cache-version.ts";
import type { Page } from "./client-options.ts";
import type { KubeObject } from "./resource.ts";

export interface Comparison {
  readonly read: () => Promise<Page<Versioned>>;
  /** Gives the watch time to show what the list showed first; false when there is no time left. */
  readonly grace: () => Promise<boolean>;
}

/**
 * The list is of one moment and the store moves on meanwhile, so a difference is only a suspicion. What still differs
 * after the grace was missed. Undefined when the watch ended before that could be known.
 */
export async function missedBy<T extends KubeObject, I extends string>(
  store: CacheStore<T, I>,
  comparison: Comparison,
): Promise<number | undefined> {
  const deleted = store.openJournal();
  try {
    const page = await comparison.read();
    const unseen = () => page.items.filter((item) => !deleted.has(item.uid) && lacks(store, item));
    const listed = new Set(page.items.map(({ uid }) => uid));
    const left = () =>
      [...store.entries().values()].filter((e) => !listed.has(e.uid) && !isOlder(page.resourceVersion, e.version));
    if (unseen().length + left().length === 0) return 0;
    if (!(await comparison.grace())) return undefined;
    return unseen().length + left().length;
  } finally {
    store.closeJournal();
  }
}

/** Whether the store has not yet seen this version of this object, or a later one. */
function lacks<T extends KubeObject, I extends string>(store: CacheStore<T, I>, item: Versioned): boolean {
  const known = store.entry(item.key);
  if (known === undefined) return true;
  return isOlder(known.version, item.version);
}
