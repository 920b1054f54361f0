/** What a failed call means to its caller, in plain words and for programs. */
import { Code, ConnectError } from "@connectrpc/connect";
import { REFUSAL_HEADER } from "./gate.ts";

const NO_ANSWER: ReadonlySet<Code> = new Set([Code.Unavailable, Code.Canceled, Code.Aborted, Code.DeadlineExceeded]);

/**
 * Whether there was no answer from whom we meant: gone, frozen, another at its address, or cut off on the way. A command
 * may have been carried out nevertheless. `Canceled` counts: a connection that closes under a call often looks like it.
 */
export function isUnreachable(error: unknown): boolean {
  return error instanceof ConnectError && NO_ANSWER.has(error.code);
}

/** Why the other side refused; undefined when it did not. */
export function refusalOf(error: unknown): string | undefined {
  return error instanceof ConnectError ? (error.metadata.get(REFUSAL_HEADER) ?? undefined) : undefined;
}

/** Whether a later term commands there: this replica leads no more, whatever it believes. */
export function isDeposed(error: unknown): boolean {
  return refusalOf(error) === "lower-fencing-token";
}

export interface FailedCall {
  /** `https://10.0.0.7:8444`. */
  readonly url: string;
  /** Whom we meant. */
  readonly expected: string;
  readonly timeoutMs: number;
  /** The caller's own. */
  readonly signal: AbortSignal | undefined;
  /** What we saw in place of whom we meant. */
  readonly stranger: string | undefined;
}

/**
 * The error to throw on. What the other side answered stays as it is; of what happened on the way it is told whom we
 * could not reach, where and why.
 */
export function explained(error: unknown, call: FailedCall): ConnectError {
  const raw = ConnectError.from(error, Code.Unknown);
  const whom = `${call.expected} at ${call.url}`;
  if (call.stranger !== undefined) {
    const message = `${whom} was not called: ${call.stranger} answers at this address`;
    return new ConnectError(message, Code.Unavailable, undefined, undefined, error);
  }
  if (isAnswer(raw) || call.signal?.aborted === true) return raw;
  if (raw.code === Code.DeadlineExceeded) {
    const message = `${whom} did not answer within ${call.timeoutMs} ms`;
    return new ConnectError(message, raw.code, undefined, undefined, error);
  }
  if (raw.code === Code.ResourceExhausted) return raw;
  const message = `${whom} cannot be reached: ${raw.rawMessage}${hint(raw)}`;
  return new ConnectError(message, Code.Unavailable, undefined, undefined, error);
}

/** An error that came as an answer carries the answer's headers. */
export function isAnswer(error: ConnectError): boolean {
  return error.metadata.has("content-type") || error.metadata.has("date");
}

/** With TLS 1.3 a client learns of a refused certificate only by the end of the connection. */
function hint({ code }: ConnectError): string {
  if (code !== Code.Canceled && code !== Code.Aborted) return "";
  return " (when this repeats, the other side may refuse our certificate: its log and rpc_refusals_total say why)";
}
