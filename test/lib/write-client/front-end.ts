/** What the write client needs of a client library: single attempts whose failures are values, not exceptions. */
import type { Address, Credentials } from "../resp/connection.ts";

export interface Target extends Credentials {
  /** Any nodes of the deployment; one that answers is enough. */
  readonly addresses: readonly Address[];
}

export type Attempt<T> =
  | { readonly done: true; readonly value: T }
  /** `redirect`: nothing is wrong, another node is to be asked, and that at once. */
  | { readonly done: false; readonly kind: string; readonly redirect: boolean };

/** One user's connection, or connections, to the deployment. Calls may overlap. */
export interface Lane {
  set(key: string, value: string): Promise<Attempt<void>>;
  get(key: string): Promise<Attempt<string | null>>;
}

export interface FrontEnd {
  readonly name: FrontEndName;
  lane(): Promise<Lane>;
  /** Resolves when something changed that makes another attempt worth while, at the latest after a few milliseconds. */
  hint(): Promise<void>;
  /** What happened beside the attempts, such as error events, counted by kind. */
  readonly events: ReadonlyMap<string, number>;
  close(): void;
}

export const FRONT_ENDS = ["prober", "iovalkey"] as const;
export type FrontEndName = (typeof FRONT_ENDS)[number];

export function failure(kind: string, redirect = false): { done: false; kind: string; redirect: boolean } {
  return { done: false, kind, redirect };
}

export function count(counts: Map<string, number>, kind: string): void {
  counts.set(kind, (counts.get(kind) ?? 0) + 1);
}
