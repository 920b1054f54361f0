/**
 * A connection that does nothing but live as long as its server: its end is heard within milliseconds, where a look at
 * the process would come up to a second late.
 */
import { type Clock, pause } from "../../clock/clock.ts";
import { ValkeyConnection } from "../../valkey/connection.ts";

export interface ServerWatchOptions {
  readonly clock: Clock;
  readonly socketPath: string;
  /** Called whenever a connection that was up has ended, whatever the reason. */
  readonly onEnd: () => void;
}

const RETRY_MS = 50;
const LONGEST_RETRY_MS = 2000;

/** Runs until the signal is aborted. A server that closes idle clients is connected to anew. */
export async function watchServer(options: ServerWatchOptions, signal: AbortSignal): Promise<void> {
  let delayMs = RETRY_MS;
  while (!signal.aborted) {
    const connection = await open(options.socketPath, signal);
    if (connection !== undefined) {
      delayMs = RETRY_MS;
      const end = () => connection.close();
      signal.addEventListener("abort", end, { once: true });
      if (signal.aborted) end();
      await connection.closed;
      signal.removeEventListener("abort", end);
      options.onEnd();
    }
    await pause(options.clock, delayMs, signal);
    delayMs = Math.min(LONGEST_RETRY_MS, delayMs * 1.5);
  }
}

/** Undefined when the server does not take connections yet, or any more. */
async function open(path: string, signal: AbortSignal): Promise<ValkeyConnection | undefined> {
  try {
    return await ValkeyConnection.open({ at: { path }, signal });
  } catch {
    return undefined;
  }
}
