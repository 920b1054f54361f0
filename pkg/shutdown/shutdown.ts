/**
 * How a program ends: a SIGTERM (or SIGINT) begins, what was registered is stopped one after the other, each with a
 * deadline of its own, and the exit code tells whether all went well. A second signal ends the program at once.
 *
 * The order is the caller's: not ready first, then stop accepting, then the work, the lease and the connections.
 */
import type { Logger } from "../log/log.ts";

export interface Stopper {
  readonly name: string;
  /** The signal ends when the deadline does: what still waits must give up then. */
  readonly stop: (signal: AbortSignal) => void | Promise<void>;
  /** Defaults to 5 s. */
  readonly deadlineMs?: number;
}

export interface ShutdownOptions {
  readonly log: Logger;
  readonly stoppers: readonly Stopper[];
  /** Defaults to process.exit. */
  readonly exit?: (code: number) => void;
}

export const EXIT = { clean: 0, unclean: 1, impatient: 130 } as const;

const SIGNALS = ["SIGTERM", "SIGINT"] as const;
const STOP_MS = 5000;

export class Shutdown {
  readonly #options: ShutdownOptions;
  readonly #began = new AbortController();
  #running: Promise<number> | undefined;

  constructor(options: ShutdownOptions) {
    this.#options = options;
  }

  /** Ends with the beginning of the shutdown: for loops that should not start another round. */
  get signal(): AbortSignal {
    return this.#began.signal;
  }

  /** Listens to the signals. Returns how to stop listening. */
  listen(): () => void {
    const listeners = SIGNALS.map((name) => {
      const listener = () => this.#signalled(name);
      process.on(name, listener);
      return () => void process.off(name, listener);
    });
    return () => listeners.forEach((off) => off());
  }

  /** Also for a program that must end by its own decision (a lost lease). Called again it gives the same answer. */
  async begin(why: string): Promise<number> {
    this.#running ??= this.#stopAll(why);
    return this.#running;
  }

  #signalled(name: string): void {
    const { log, exit = (code) => process.exit(code) } = this.#options;
    if (this.#running !== undefined) {
      log.warn({ signal: name }, "second signal, ending at once");
      exit(EXIT.impatient);
      return;
    }
    void this.begin(name).then(exit);
  }

  async #stopAll(why: string): Promise<number> {
    const { log, stoppers } = this.#options;
    log.info({ why }, "shutdown begins");
    this.#began.abort(new Error(`shutdown: ${why}`));
    const failed: string[] = [];
    for (const stopper of stoppers) {
      const problem = await stopOne(stopper);
      if (problem === undefined) continue;
      failed.push(stopper.name);
      log.error({ stopping: stopper.name, problem }, "shutdown step failed");
    }
    log.info({ failed }, "shutdown ends");
    return failed.length === 0 ? EXIT.clean : EXIT.unclean;
  }
}

/** One that fails or hangs does not keep the others from being stopped. */
async function stopOne({ stop, deadlineMs = STOP_MS }: Stopper): Promise<string | undefined> {
  const deadline = new AbortController();
  const late = Promise.withResolvers<void>();
  const timer = setTimeout(() => {
    deadline.abort(new Error(`not stopped within ${deadlineMs} ms`));
    // What waits on the signal gets a moment to end by it.
    setTimeout(late.resolve, 10);
  }, deadlineMs);
  try {
    await Promise.race([invoke(stop, deadline.signal), late.promise]);
    // Ended by the deadline is not ended well: something was cut off.
    return deadline.signal.aborted ? `not stopped within ${deadlineMs} ms` : undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    clearTimeout(timer);
  }
}

/** async, so that a throw before the first await is a rejection like any other. */
async function invoke(stop: Stopper["stop"], signal: AbortSignal): Promise<void> {
  await stop(signal);
}
