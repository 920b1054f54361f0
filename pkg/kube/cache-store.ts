/**
 * The objects of a cache and what a list or a watch frame does to them. No I/O and no time: what comes in decides what
 * goes out.
 *
 * An object never goes back to an older version of itself. A name that now belongs to another UID is a deletion and an
 * addition, also when nobody saw the deletion.
 */
import { CacheIndex, type IndexBy } from "./cache-index.ts";
import { isOlder, type Versioned } from "./cache-version.ts";
import type { KubeObject, Parse } from "./resource.ts";

export type CacheChange<T> =
  | { readonly type: "add"; readonly object: T }
  | { readonly type: "update"; readonly old: T; readonly object: T }
  /** The object as it was last seen. */
  | { readonly type: "delete"; readonly object: T };

export interface Entry<T> {
  readonly uid: string;
  readonly version: string;
  /** The last readable state. Undefined when there was none, and then the object is not shown. */
  readonly object: T | undefined;
}

export interface Prepared<T> extends Entry<T> {
  readonly key: string;
}

export interface StoreOptions<T, I extends string> {
  readonly project: Parse<T>;
  readonly indexes: Readonly<Record<I, IndexBy<T>>> | undefined;
  /** An object that the projection refuses; its last readable state is kept. */
  readonly onUnreadable: (key: string, error: unknown) => void;
}

export interface Frame {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly item: Versioned;
}

export class CacheStore<T extends KubeObject, I extends string> {
  readonly #options: StoreOptions<T, I>;
  readonly #entries = new Map<string, Entry<T>>();
  readonly #indexes: ReadonlyMap<string, CacheIndex<T>>;
  /** UIDs deleted since the journal was opened. */
  #journal: Set<string> | undefined;

  constructor(options: StoreOptions<T, I>) {
    this.#options = options;
    const indexes = Object.entries<IndexBy<T>>(options.indexes ?? {});
    this.#indexes = new Map(indexes.map(([name, by]) => [name, new CacheIndex(by)]));
  }

  get size(): number {
    return this.#entries.size;
  }

  entry(key: string): Entry<T> | undefined {
    return this.#entries.get(key);
  }

  entries(): ReadonlyMap<string, Entry<T>> {
    return this.#entries;
  }

  index(name: I): CacheIndex<T> {
    const index = this.#indexes.get(name);
    if (index === undefined) throw new TypeError(`there is no index ${name}`);
    return index;
  }

  /** What one watch frame changes; nothing when it is older than what is known. */
  apply({ type, item }: Frame): readonly CacheChange<T>[] {
    const known = this.#entries.get(item.key);
    if (known !== undefined && !isNews(known, item)) return [];
    if (type !== "DELETED") return this.#set(this.prepare(item));
    // A deletion of an earlier object of this name has been seen already, by the arrival of its successor.
    return known === undefined || known.uid !== item.uid ? [] : this.#remove(item.key);
  }

  /** Projects an object, unless the very same version is known already. */
  prepare({ key, uid, version, value }: Versioned): Prepared<T> {
    const known = this.#entries.get(key);
    const same = known?.uid === uid ? known : undefined;
    if (same !== undefined && same.version === version) return { key, ...same };
    try {
      return { key, uid, version, object: this.#options.project(value) };
    } catch (error) {
      this.#options.onUnreadable(key, error);
      return { key, uid, version, object: same?.object };
    }
  }

  /** Makes the content that of a complete list. The list is the truth, whatever was known. */
  replace(items: readonly Prepared<T>[]): readonly CacheChange<T>[] {
    const listed = new Set(items.map(({ key }) => key));
    const gone = [...this.#entries.keys()].filter((key) => !listed.has(key));
    return [...gone.flatMap((key) => this.#remove(key)), ...items.flatMap((item) => this.#set(item))];
  }

  /** From now on deletions are noted, until the journal is closed. */
  openJournal(): ReadonlySet<string> {
    this.#journal = new Set();
    return this.#journal;
  }

  closeJournal(): void {
    this.#journal = undefined;
  }

  #set(item: Prepared<T>): CacheChange<T>[] {
    const { key, uid, version, object } = item;
    const known = this.#entries.get(key);
    if (known !== undefined && known.uid !== uid) return [...this.#remove(key), ...this.#set(item)];
    if (known?.version === version) return [];
    const old = known?.object;
    this.#entries.set(key, { uid, version, object });
    if (object === undefined || object === old) return [];
    for (const index of this.#indexes.values()) index.move(key, old, object);
    return [old === undefined ? { type: "add", object } : { type: "update", old, object }];
  }

  #remove(key: string): CacheChange<T>[] {
    const known = this.#entries.get(key);
    if (known === undefined) return [];
    this.#entries.delete(key);
    this.#journal?.add(known.uid);
    const { object } = known;
    if (object === undefined) return [];
    for (const index of this.#indexes.values()) index.move(key, object, undefined);
    return [{ type: "delete", object }];
  }
}

/** A frame with an equal version is one that was sent twice. */
function isNews(known: Entry<unknown>, item: Versioned): boolean {
  return known.version !== item.version && !isOlder(item.version, known.version);
}
