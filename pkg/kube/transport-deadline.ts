/** Bounds a piece of work by the caller's signal and a deadline, and says which of them ended it. */
import { KubeError } from "./kube-error.ts";

export interface Bounds {
  readonly action: string;
  readonly signal?: AbortSignal | undefined;
  readonly deadlineMs: number;
}

/**
 * The work gets a signal that fires on either. Should the work not heed it, the call ends all the same: a peer that
 * hangs in a way nobody thought of must not hang us.
 */
export async function within<T>(bounds: Bounds, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const { promise: ended, reject } = Promise.withResolvers<never>();
  const end = (error: KubeError) => {
    reject(error);
    controller.abort(error);
  };
  const onAbort = () => end(abortedError(bounds.action, bounds.signal));
  if (bounds.signal?.aborted === true) throw abortedError(bounds.action, bounds.signal);
  bounds.signal?.addEventListener("abort", onAbort, { once: true });
  const timer = setTimeout(() => end(deadlineError(bounds)), bounds.deadlineMs);
  try {
    return await Promise.race([work(controller.signal), ended]);
  } catch (error) {
    throw controller.signal.aborted && controller.signal.reason instanceof KubeError ? controller.signal.reason : error;
  } finally {
    clearTimeout(timer);
    bounds.signal?.removeEventListener("abort", onAbort);
  }
}

export function abortedError(action: string, signal: AbortSignal | undefined): KubeError {
  return new KubeError({ code: "aborted", action, message: "stopped by the caller", cause: signal?.reason });
}

function deadlineError({ action, deadlineMs }: Bounds): KubeError {
  const message = `no answer within ${deadlineMs / 1000} s`;
  return new KubeError({ code: "deadline", action, message, hint: "is the API server overloaded or frozen?" });
}
