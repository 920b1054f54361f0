/**
 * Nothing is watched or written before the CRDs are there and ours. A cause that somebody has to remove (another
 * operator's CRDs, a missing right, an API server that is away) is told by readiness and the log, and looked at again
 * every few seconds: the process stays, so that it goes on at once when the cause is gone.
 */
import { pause, systemClock } from "../../clock/clock.ts";
import { type CrdDeps, ensureCrds } from "./crds.ts";

const LOOK_AGAIN_MS = 5000;

export class CrdGate {
  readonly #deps: CrdDeps;
  #problem: string | undefined = "the CRDs were not looked at yet";

  constructor(deps: CrdDeps) {
    this.#deps = deps;
  }

  /** Why the operator does not begin; undefined when it may. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Resolves when the CRDs can be used, or the signal is aborted. */
  async open(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await ensureCrds(this.#deps, signal);
        this.#problem = undefined;
        return;
      } catch (error) {
        this.#tell(error instanceof Error ? error.message : String(error), signal);
      }
      await pause(this.#deps.clock ?? systemClock, LOOK_AGAIN_MS, signal);
    }
  }

  /** A cause is logged once, not at every look. */
  #tell(problem: string, signal: AbortSignal): void {
    if (signal.aborted || problem === this.#problem) return;
    this.#problem = problem;
    this.#deps.log.error({ problem }, "the operator does not begin");
  }
}
