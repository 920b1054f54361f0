/** Every call ends: handlers end with their deadline, whatever they wait for. */
import { Code, ConnectError } from "@connectrpc/connect";

/**
 * The work's result, or the signal's reason when that comes first. Work that goes on nevertheless goes on unseen: what
 * it waits for should take the same signal.
 */
export async function untilAborted<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  if (signal.aborted) throw abortReason(signal);
  const { promise, reject } = Promise.withResolvers<never>();
  const aborted = () => reject(abortReason(signal));
  signal.addEventListener("abort", aborted, { once: true });
  try {
    return await Promise.race([work(), promise]);
  } finally {
    signal.removeEventListener("abort", aborted);
  }
}

/** The signal's reason in the words of RPC: a deadline is DeadlineExceeded, everything else that has no code Canceled. */
export function abortReason(signal: AbortSignal): ConnectError {
  const reason: unknown = signal.reason;
  if (reason instanceof Error && reason.name === "TimeoutError") {
    return new ConnectError("no answer in time", Code.DeadlineExceeded, undefined, undefined, reason);
  }
  return ConnectError.from(reason, Code.Canceled);
}

export interface Deadline extends Disposable {
  readonly signal: AbortSignal;
}

/** A signal that follows the other and is aborted after `ms` at the latest; disposed of, it leaves no timer. */
export function deadlineWithin(signal: AbortSignal, ms: number, message: string): Deadline {
  const own = new AbortController();
  const timer = setTimeout(() => own.abort(new ConnectError(message, Code.DeadlineExceeded)), ms);
  return {
    signal: AbortSignal.any([signal, own.signal]),
    [Symbol.dispose]: () => clearTimeout(timer),
  };
}
