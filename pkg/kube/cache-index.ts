/** Finds the objects of a cache by something other than their name. */
import type { KubeObject } from "./resource.ts";

/** The values under which an object is found. */
export type IndexBy<T> = (object: T) => readonly string[];

export class CacheIndex<T> {
  readonly #by: IndexBy<T>;
  readonly #keys = new Map<string, Set<string>>();

  constructor(by: IndexBy<T>) {
    this.#by = by;
  }

  keys(value: string): ReadonlySet<string> {
    return this.#keys.get(value) ?? NONE;
  }

  /** Every value under which there is an object. */
  values(): Iterable<string> {
    return this.#keys.keys();
  }

  /** From what the object was to what it is; undefined is not there. */
  move(key: string, old: T | undefined, now: T | undefined): void {
    if (old !== undefined) this.#remove(key, old);
    if (now !== undefined) this.#add(key, now);
  }

  #add(key: string, object: T): void {
    for (const value of this.#by(object)) {
      const keys = this.#keys.get(value);
      if (keys === undefined) this.#keys.set(value, new Set([key]));
      else keys.add(key);
    }
  }

  #remove(key: string, object: T): void {
    for (const value of this.#by(object)) {
      const keys = this.#keys.get(value);
      keys?.delete(key);
      if (keys?.size === 0) this.#keys.delete(value);
    }
  }
}

const NONE: ReadonlySet<string> = new Set();

export function byNamespace(object: KubeObject): readonly string[] {
  return object.metadata.namespace === undefined ? [] : [object.metadata.namespace];
}

export function byOwnerUid(object: KubeObject): readonly string[] {
  return object.metadata.ownerReferences?.map((owner) => owner.uid) ?? [];
}

/** `namespace/value` of a label, for kinds with a namespace; the value alone otherwise. */
export function byLabel(name: string): IndexBy<KubeObject> {
  return ({ metadata: { namespace, labels } }) => {
    const value = labels?.[name];
    if (value === undefined) return [];
    return [namespace === undefined ? value : `${namespace}/${value}`];
  };
}
