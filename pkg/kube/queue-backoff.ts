/** How long a key that failed waits before it is tried again. */
export interface BackoffOptions {
  /** After the first failure. Defaults to 5 ms. */
  readonly baseMs?: number;
  /** Never longer than this. Defaults to 5 minutes. */
  readonly maxMs?: number;
  /** Each wait is made up to this much shorter by chance, so that keys that failed together part. Defaults to 0.3. */
  readonly jitter?: number;
}

export type Backoff = (failures: number) => number;

export function backoff(options: BackoffOptions, random: () => number): Backoff {
  const { baseMs = 5, maxMs = 5 * 60_000, jitter = 0.3 } = options;
  return (failures) => Math.min(maxMs, baseMs * 2 ** Math.max(0, failures - 1)) * (1 - jitter * random());
}
