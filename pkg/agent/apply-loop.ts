/**
 * Makes the running server what is wanted and keeps it so: at its start, at every change, and again after whatever went
 * wrong. One application at a time; what changes meanwhile is applied right after.
 */
import { type Clock, pause } from "../clock/clock.ts";
import { Wakeup } from "../clock/wakeup.ts";
import type { Logger } from "../log/log.ts";
import type { AppliedConfiguration, Drift } from "../rpc/gen/valkey/agent/v1/state_pb.ts";
import type { ServerControl, Wanted } from "./server-control.ts";

export interface ApplyLoopOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly control: Pick<ServerControl, "apply" | "checkDrift">;
  /** Undefined while there is nothing to apply, or no server that may be touched. */
  readonly wanted: () => Wanted | undefined;
  /** Which server it would be applied to; another one is applied to anew. */
  readonly runId: () => string | undefined;
  readonly onChange: () => void;
}

const DEADLINE_MS = 2500;
const RETRY_MS = 300;
const LONGEST_RETRY_MS = 10_000;
const IDLE_MS = 1000;

interface Done {
  readonly wanted: Wanted;
  readonly runId: string;
  readonly applied: AppliedConfiguration;
  /** Time of day. */
  readonly at: number;
}

export class ApplyLoop {
  readonly #options: ApplyLoopOptions;
  readonly #wake = new Wakeup();
  readonly #finished = new Wakeup();
  #done: Done | undefined;
  #drifts: readonly Drift[] = [];
  #problem: string | undefined;

  constructor(options: ApplyLoopOptions) {
    this.#options = options;
  }

  /** What is in force on the server that runs; undefined when nothing is. */
  get applied(): AppliedConfiguration | undefined {
    return this.#done !== undefined && this.#done.runId === this.#options.runId() ? this.#done.applied : undefined;
  }

  /** When the last application began that is in force, as time of day; undefined when none is. */
  get appliedAt(): number | undefined {
    return this.applied === undefined ? undefined : this.#done?.at;
  }

  get drifts(): readonly Drift[] {
    return this.applied === undefined ? [] : this.#drifts;
  }

  /** Why the last attempt failed as a whole; never a secret. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** There is something new to apply, or a new server. */
  poke(): void {
    this.#wake.notify();
  }

  /** Resolves when what is wanted now has been applied, or when the signal is aborted. */
  async settled(signal: AbortSignal): Promise<AppliedConfiguration | undefined> {
    const { clock, wanted } = this.#options;
    this.poke();
    while (!signal.aborted && wanted() !== undefined && !this.#isDone()) {
      await this.#finished.wait(clock, IDLE_MS, signal);
    }
    return this.applied;
  }

  /** Compares the running server with what was applied; to be called with every heartbeat. */
  async checkDrift(signal: AbortSignal): Promise<void> {
    const { control, wanted, log } = this.#options;
    const current = wanted();
    if (current === undefined || !this.#isDone()) return;
    try {
      this.#drifts = await control.checkDrift(current, deadline(signal));
      for (const { kind, name, repaired } of this.#drifts) log.warn({ kind, name, repaired }, "the server has drifted");
    } catch (error) {
      log.debug({ why: text(error) }, "cannot compare the server with what was applied");
    }
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    let delayMs = RETRY_MS;
    while (!signal.aborted) {
      if (this.#isDone() || this.#target() === undefined) {
        await this.#wake.wait(clock, IDLE_MS, signal);
        continue;
      }
      if (await this.#apply(signal)) delayMs = RETRY_MS;
      else {
        await pause(clock, delayMs, signal);
        delayMs = Math.min(LONGEST_RETRY_MS, delayMs * 2);
      }
    }
  }

  #target(): { readonly wanted: Wanted; readonly runId: string } | undefined {
    const wanted = this.#options.wanted();
    const runId = this.#options.runId();
    return wanted === undefined || runId === undefined ? undefined : { wanted, runId };
  }

  #isDone(): boolean {
    const target = this.#target();
    const done = this.#done;
    if (target === undefined || done === undefined || done.runId !== target.runId) return false;
    return (
      done.wanted.configuration.sequence === target.wanted.configuration.sequence &&
      done.wanted.configuration.hash === target.wanted.configuration.hash &&
      done.wanted.secrets.sequence === target.wanted.secrets.sequence
    );
  }

  async #apply(signal: AbortSignal): Promise<boolean> {
    const { clock, control, log, onChange } = this.#options;
    const target = this.#target();
    if (target === undefined) return true;
    const began = clock.wall();
    try {
      const applied = await control.apply(target.wanted, deadline(signal));
      this.#done = { ...target, applied, at: began };
      this.#problem = undefined;
      const { needsRestart, refusals } = applied;
      log.info(
        { needsRestart, refused: refusals.map(({ name, message }) => `${name}: ${message}`) },
        "configuration applied",
      );
      return true;
    } catch (error) {
      this.#problem = text(error);
      log.warn({ why: this.#problem }, "cannot apply the configuration, trying again");
      return false;
    } finally {
      this.#finished.notify();
      onChange();
    }
  }
}

function deadline(signal: AbortSignal): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(DEADLINE_MS)]);
}

function text(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
