/**
 * What the webhooks' certificates need of Kubernetes, so small that a test's version of it is a real one: one Secret
 * and the caBundle of our webhook configurations. "conflict" is an answer, not an error: with several replicas somebody
 * else being first is the normal case.
 */

export interface StoredSecret {
  /** Decoded: what was base64 in the API is plain text here. */
  readonly data: Readonly<Record<string, string>>;
  readonly resourceVersion: string;
}

export interface SecretStore {
  /** Straight from the API server, not from a cache. Undefined if there is none. */
  read(signal: AbortSignal): Promise<StoredSecret | undefined>;
  /** "conflict" if somebody made it before. */
  create(data: StoredSecret["data"], signal: AbortSignal): Promise<StoredSecret | "conflict">;
  /** Replaces the data; "conflict" if it was changed or deleted since that version. */
  update(secret: StoredSecret, signal: AbortSignal): Promise<StoredSecret | "conflict">;
}

export interface CaBundles {
  /** The PEM text of each webhook in the configuration; empty where none is set. */
  readonly bundles: readonly string[];
  readonly resourceVersion: string;
}

export interface CaBundleWriter {
  /** Straight from the API server. Undefined if there is no configuration: then there is nothing to keep right. */
  read(signal: AbortSignal): Promise<CaBundles | undefined>;
  /** Sets it in every webhook of the configuration; "conflict" if that was changed or deleted since it was read. */
  write(bundle: string, over: CaBundles, signal: AbortSignal): Promise<"written" | "conflict">;
}
