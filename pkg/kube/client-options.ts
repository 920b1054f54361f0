/** What can be asked of the API server: the options of every call, and what a list and a watch give. */
import type { KubeObject, LooseObject } from "./resource.ts";

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** For the whole call with its retries. Defaults to 30 s. */
  readonly deadlineMs?: number | undefined;
}

export interface Selection {
  /** Defaults to all namespaces. */
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
}

export interface ListQuery extends Selection {
  /** Defaults to no limit in `list`, to 500 in `listAll`. */
  readonly limit?: number | undefined;
  readonly continue?: string | undefined;
  /** Defaults to none: the newest state. "0" is whatever the server's own cache holds. */
  readonly resourceVersion?: string | undefined;
  readonly resourceVersionMatch?: "Exact" | "NotOlderThan" | undefined;
  /** The objects come with their metadata and nothing else. Defaults to false. */
  readonly metadataOnly?: boolean | undefined;
}

export interface Page<T> {
  readonly items: readonly T[];
  readonly resourceVersion: string;
  /** Set when there is more. */
  readonly continue?: string | undefined;
}

export interface WriteOptions extends CallOptions {
  readonly fieldManager?: string | undefined;
  /** Asks the server for the result without storing it. Defaults to false. */
  readonly dryRun?: boolean | undefined;
}

export interface SubresourceOptions extends WriteOptions {
  /** `status`, `scale`, … */
  readonly subresource?: string | undefined;
}

export interface ApplyOptions extends SubresourceOptions {
  readonly fieldManager: string;
  /** Takes over fields that another manager owns. Defaults to false: such a field is a `conflict`. */
  readonly force?: boolean | undefined;
}

export type Patch =
  | { readonly type: "merge"; readonly body: object }
  | { readonly type: "json"; readonly operations: readonly JsonPatchOperation[] };

export interface JsonPatchOperation {
  readonly op: "add" | "remove" | "replace" | "test" | "copy" | "move";
  readonly path: string;
  readonly from?: string;
  readonly value?: unknown;
}

export interface DeleteOptions extends CallOptions {
  /** Preconditions: another object of the same name, or a newer state of it, is left alone (`conflict`). */
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
  /** Defaults to "Background". */
  readonly propagationPolicy?: "Background" | "Foreground" | "Orphan" | undefined;
  readonly gracePeriodSeconds?: number | undefined;
}

/** "terminating": finalizers or a grace period still hold the object; "absent": there was none. */
export type DeleteOutcome = "deleted" | "terminating" | "absent";

/** An object to be written. apiVersion and kind are filled in from the Resource. */
export type Body = KubeObject | LooseObject;

export type NewBody = Unnamed | (Unnamed & { readonly [field: string]: unknown });

interface Unnamed {
  readonly metadata: Omit<KubeObject["metadata"], "name"> & {
    readonly name?: string | undefined;
    readonly generateName?: string | undefined;
  };
}

export interface WatchQuery extends Selection {
  /** Where to go on from: of a list, an event or a bookmark. */
  readonly resourceVersion: string;
  /** After this the server ends the watch in good order. Defaults to the server's choice of 30 to 60 minutes. */
  readonly timeoutSeconds?: number | undefined;
}

export interface WatchOptions {
  readonly signal: AbortSignal;
  /** A watch without any frame, bookmarks included, for this long is broken (`idle`). Defaults to 90 s. */
  readonly idleMs?: number | undefined;
  /** Until the answer's header is there. Defaults to 30 s. */
  readonly deadlineMs?: number | undefined;
  /** The server has agreed to the watch. */
  readonly onOpen?: (() => void) | undefined;
}

export type WatchEvent<T> =
  | { readonly type: "ADDED" | "MODIFIED" | "DELETED"; readonly object: T }
  /** Nothing changed up to this version. */
  | { readonly type: "BOOKMARK"; readonly resourceVersion: string }
  /** The object changed into something that its parser refuses. */
  | { readonly type: "UNREADABLE"; readonly object: LooseObject; readonly error: Error };

export interface RawRequest extends CallOptions {
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** With the query: `/readyz?verbose` */
  readonly path: string;
  /** Sent as JSON, unless contentType says otherwise and it is a string. */
  readonly body?: unknown;
  /** Defaults to application/json. */
  readonly contentType?: string;
  /** Defaults to application/json. */
  readonly accept?: string;
  /** For errors. Defaults to method and path. */
  readonly action?: string;
  /** Defaults to true: waits and tries again on 429. False for evictions, where 429 is the answer. */
  readonly retryTooMany?: boolean;
}
