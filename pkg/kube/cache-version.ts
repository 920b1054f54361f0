/** What the cache needs of an object before it looks at anything else: which one it is and how new. */
import { KubeError } from "./kube-error.ts";
import { keyOfRef } from "./resource.ts";

export interface Versioned {
  readonly key: string;
  readonly uid: string;
  readonly version: string;
  /** The whole object as the server sent it. */
  readonly value: unknown;
}

/** Written by hand because it runs for every frame of every watch. */
export function parseVersioned(value: unknown): Versioned {
  const metadata = field(value, "metadata");
  const name = field(metadata, "name");
  const namespace = field(metadata, "namespace");
  const uid = field(metadata, "uid");
  const version = field(metadata, "resourceVersion");
  if (typeof name !== "string" || typeof uid !== "string" || typeof version !== "string") {
    const message = "an object without name, uid or resourceVersion";
    throw new KubeError({ code: "bad-response", action: "read an object", message });
  }
  return {
    key: keyOfRef({ namespace: typeof namespace === "string" ? namespace : undefined, name }),
    uid,
    version,
    value,
  };
}

function field(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  return Object.getOwnPropertyDescriptor(value, name)?.value;
}

/**
 * Resource versions of one kind in one cluster are decimal numbers that grow, of any length. Undefined when one of them
 * is something else: then nothing is known about their order.
 */
export function compareVersions(a: string, b: string): number | undefined {
  if (a === b) return 0;
  if (!isNumber(a) || !isNumber(b)) return undefined;
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : 1;
}

export function isOlder(a: string, b: string): boolean {
  const order = compareVersions(a, b);
  return order !== undefined && order < 0;
}

function isNumber(text: string): boolean {
  return /^(?:0|[1-9]\d*)$/u.test(text);
}
