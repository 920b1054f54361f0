/** What is refused is counted, and told in the log with its reason; a flood of it cannot flood the log. */
import type { Clock } from "../clock/clock.ts";
import type { Logger } from "../log/log.ts";
import type { RpcMetrics } from "./rpc-metrics.ts";

export type RefusalReason =
  | "no-certificate"
  | "untrusted-certificate"
  | "expired-certificate"
  | "wrong-purpose"
  | "forbidden-name"
  | "no-identity"
  | "handshake-failed"
  | "handshake-timeout"
  | "too-many-handshakes"
  | "foreign-trust-domain"
  | "wrong-deployment"
  | "role-not-allowed"
  | "unspoken-protocol"
  | "no-fencing-token"
  | "lower-fencing-token"
  | "too-large"
  | "deadline"
  | "unknown-method";

export interface RefusalsOptions {
  /** Name of the server. */
  readonly server: string;
  readonly metrics: RpcMetrics;
  readonly log: Logger;
  readonly clock: Clock;
}

/** Of each reason so many lines may come at once … */
const BURST = 5;
/** … and one more for each of these. */
const REFILL_MS = 10_000;

interface Allowance {
  lines: number;
  since: number;
  unsaid: number;
}

export class Refusals {
  readonly #options: RefusalsOptions;
  readonly #allowances = new Map<RefusalReason, Allowance>();

  constructor(options: RefusalsOptions) {
    this.#options = options;
  }

  add(reason: RefusalReason, about: Readonly<Record<string, string | number | undefined>>): void {
    const { server, metrics, log } = this.#options;
    metrics.refusals.inc({ server, reason });
    const allowance = this.#allowance(reason);
    if (allowance.lines < 1) {
      allowance.unsaid += 1;
      return;
    }
    allowance.lines -= 1;
    const unsaid = allowance.unsaid === 0 ? {} : { unsaid: allowance.unsaid };
    allowance.unsaid = 0;
    log.warn({ server, reason, ...about, ...unsaid }, "call refused");
  }

  #allowance(reason: RefusalReason): Allowance {
    const now = this.#options.clock.monotonic();
    const allowance = this.#allowances.get(reason) ?? { lines: BURST, since: now, unsaid: 0 };
    const earned = Math.floor((now - allowance.since) / REFILL_MS);
    allowance.lines = Math.min(BURST, allowance.lines + earned);
    allowance.since += earned * REFILL_MS;
    this.#allowances.set(reason, allowance);
    return allowance;
  }
}

const BY_TLS_CODE: readonly (readonly [RegExp, RefusalReason])[] = [
  [/DID_NOT_RETURN_A_CERTIFICATE/, "no-certificate"],
  [/HAS_EXPIRED|NOT_YET_VALID/, "expired-certificate"],
  [/PURPOSE/, "wrong-purpose"],
  [/SUBTREE|PERMITTED|EXCLUDED/, "forbidden-name"],
  [/UNABLE_TO|SELF_SIGNED|INVALID_CA|UNTRUSTED|CERT/, "untrusted-certificate"],
  [/HANDSHAKE_TIMEOUT/, "handshake-timeout"],
];

/** What a failed handshake failed of. */
export function tlsRefusal(error: Error): { readonly reason: RefusalReason; readonly code: string } {
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  const text = `${code} ${error.message}`.toUpperCase().replaceAll(" ", "_");
  const [, reason] = BY_TLS_CODE.find(([pattern]) => pattern.test(text)) ?? [undefined, "handshake-failed" as const];
  return { reason, code: code === "" ? error.message.slice(0, 100) : code };
}
