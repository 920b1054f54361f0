/**
 * Follows the one server of this pod through its lives: absent, at the gate, loading, running, silent, gone again. It
 * starts nothing itself; kubelet does that. A supervisor that starts beside a running server takes it as it is.
 */
import { type Clock, pause } from "../../clock/clock.ts";
import { Wakeup } from "../../clock/wakeup.ts";
import type { Logger } from "../../log/log.ts";
import type { ServerPhase } from "../../rpc/gen/valkey/agent/v1/state_pb.ts";
import type { AgentPaths } from "../agent-paths.ts";
import { readIfThere, writeWhole } from "../files.ts";
import { passGate } from "../gate/fifo.ts";
import type { Opening } from "../lease/lease-driver.ts";
import type { ServerControl, ServerLook } from "../server-control.ts";
import { type Admission, clearAdmission, readAdmission, writeAdmission } from "./admission.ts";
import { Looker } from "./looker.ts";
import { findByArgument, isAlive, isSuspended, type ProcessId } from "./process.ts";
import { phaseOf } from "./server-phase.ts";
import { watchServer } from "./server-watch.ts";

export type ServerEvent =
  | { readonly kind: "gate-waits"; readonly waitsFor: string }
  | { readonly kind: "gate-opened"; readonly opening: Opening }
  | { readonly kind: "died"; readonly afterMs: number; readonly answered: boolean }
  | { readonly kind: "silent" }
  /** Whether anything but counters is different from the last look. */
  | { readonly kind: "looked"; readonly changed: boolean };

export interface GateWord {
  /** Undefined as long as it may not. */
  readonly opening: () => Opening | undefined;
  /** It was used, or could not be: the next one is decided anew. */
  readonly taken: () => void;
  /** In plain words. */
  readonly waitsFor: () => string;
}

export interface SupervisorOptions {
  readonly paths: AgentPaths;
  readonly clock: Clock;
  readonly log: Logger;
  readonly control: Pick<ServerControl, "look">;
  /** Who says when a server that waits may pass the gate, and as what. */
  readonly gate: GateWord;
  /** Makes every file that a server reads; gives the text for the gate. */
  readonly prepare: (opening: Opening) => Promise<string>;
  /** Called when no server is there: puts back what a server may have rewritten. */
  readonly reset: () => void;
  readonly onEvent: (event: ServerEvent) => void;
  /** Defaults to /proc. */
  readonly proc?: string;
  /** Between two looks at a server that is settled. Defaults to 1 s. */
  readonly lookEveryMs?: number;
}

/** How soon a server that was started is seen. kubelet restarts a crashed one after half a second. */
const SEEK_MS = 50;
/** A process may outlive its last connection by a moment. */
const DYING_MS = 5;
const DYING_LOOKS = 40;
/** Between two looks at a server whose state is changing. */
const UNSETTLED_MS = 200;
/** The same in the moments after it was let in, in which others wait for it: most servers are of use after a tenth of a second. */
const NEW_MS = 100;
const NEW_FOR_MS = 1000;
/** Between two looks for a word about the server at the gate. */
const GATE_MS = 20;
const WAITING_MS = 1000;
/** kubelet's signal follows the hook at once. */
const SIGNAL_LOST_MS = 5000;
const MS_PER_NODE = 4;

export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #looker: Looker;
  readonly #news = new Wakeup();
  #process: ProcessId | undefined;
  #admission: Admission | undefined;
  #waitsFor = "";
  #toldSilent = false;
  #toldWaiting = "";
  #retired: boolean;
  /** When a server that was to be told to end is told again. */
  #endsBy = Number.POSITIVE_INFINITY;
  /** How often the server at the gate was to be let in and was not there yet. */
  #attempts = 0;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#looker = new Looker(options.control, options.clock);
    this.#retired = readIfThere(options.paths.stopped) !== undefined;
  }

  get phase(): ServerPhase {
    const { loading, answered, quietMs } = this.#looker;
    const process = this.#process !== undefined;
    const admitted = this.#admission !== undefined;
    return phaseOf({ process, admitted, retired: this.#retired, loading, answered, quietMs });
  }

  /** Whether a process that was let in lives. */
  get admitted(): Admission | undefined {
    return this.#process === undefined ? undefined : this.#admission;
  }

  /** Names the server at the gate, anew for every decision about it; undefined when none is there. */
  get arrived(): string | undefined {
    if (this.#process === undefined || this.#admission !== undefined) return undefined;
    return `${this.#process.pid}/${this.#process.startedAt}?${this.#attempts}`;
  }

  /** Whether the server that was let in is stopped by a signal. */
  get suspended(): boolean {
    const { admitted } = this;
    return admitted !== undefined && isSuspended(admitted.process, this.#options.proc);
  }

  /** When the last look that was answered began. */
  get lookedAt(): number {
    return this.#looker.lookedAt;
  }

  /** At once, whatever it does. */
  kill(): void {
    const { admitted } = this;
    if (admitted === undefined || !this.#lives(admitted.process)) return;
    process.kill(admitted.process.pid, "SIGKILL");
  }

  get waitsFor(): string {
    return this.#process !== undefined && this.#admission === undefined ? this.#waitsFor : "";
  }

  get retired(): boolean {
    return this.#retired;
  }

  /** What was last seen of the server that runs. */
  get look(): ServerLook | undefined {
    return this.admitted === undefined ? undefined : this.#looker.last;
  }

  /** A look that is no older than this; undefined when it does not answer. */
  async freshLook(maxAgeMs: number, signal: AbortSignal): Promise<ServerLook | undefined> {
    return this.admitted === undefined ? undefined : this.#looker.fresh(maxAgeMs, signal);
  }

  /** Changes what is noted down of the server that runs. */
  note(change: Partial<Pick<Admission, "fenced" | "synced">>): void {
    const { admitted } = this;
    if (admitted === undefined) return;
    this.#admission = { ...admitted, ...change };
    writeAdmission(this.#options.paths.admission, this.#admission);
  }

  /** From now on nobody is let in, whoever restarts. */
  retire(): void {
    writeWhole(this.#options.paths.stopped, "");
    this.#retired = true;
  }

  /**
   * Its pod goes, and kubelet tells the server to end now. Now and then the signal does not reach it, a bare server neither:
   * then it would run on until the pod's grace is over, and be killed.
   */
  expectEnd(): void {
    this.#endsBy = this.#options.clock.monotonic() + SIGNAL_LOST_MS;
  }

  /** Resolves when no server is there that was let in. */
  async gone(signal: AbortSignal): Promise<void> {
    while (this.admitted !== undefined) {
      signal.throwIfAborted();
      await this.#news.wait(this.#options.clock, 100, signal);
    }
  }

  async run(signal: AbortSignal): Promise<void> {
    const { paths, clock, reset } = this.#options;
    const noted = readAdmission(paths.admission);
    if (noted !== undefined && this.#lives(noted.process)) this.#admission = noted;
    else clearAdmission(paths.admission);
    while (!signal.aborted) {
      this.#process = this.#seek();
      if (this.#process === undefined) await pause(clock, SEEK_MS, signal);
      else if (this.#admission === undefined) await this.#guard(this.#process, signal);
      else await this.#attend(this.#admission, signal);
      if (this.#process === undefined || this.#lives(this.#process)) continue;
      this.#process = undefined;
      reset();
    }
  }

  #seek(): ProcessId | undefined {
    const admitted = this.#admission?.process;
    if (admitted !== undefined && this.#lives(admitted)) return admitted;
    return findByArgument(this.#options.paths.serverConf, this.#options.proc);
  }

  #lives(process: ProcessId): boolean {
    return isAlive(process, this.#options.proc);
  }

  /** At the gate, until it is let in or gone. */
  async #guard(process: ProcessId, signal: AbortSignal): Promise<void> {
    const { clock, gate, onEvent } = this.#options;
    this.#attempts = 0;
    this.#toldWaiting = "";
    const since = clock.monotonic();
    while (this.#lives(process) && !signal.aborted) {
      const opening = gate.opening();
      if (opening !== undefined && !this.#retired) {
        gate.taken();
        if (await this.#admit(process, opening)) return onEvent({ kind: "gate-opened", opening });
        this.#attempts += 1;
      } else this.#wait(since, this.#retired ? "it was told to end for good" : gate.waitsFor());
      await pause(clock, GATE_MS, signal);
    }
  }

  /** That it waits is news when it does for longer than a decision takes. */
  #wait(since: number, waitsFor: string): void {
    const { clock, onEvent } = this.#options;
    this.#waitsFor = waitsFor;
    if (clock.monotonic() - since < WAITING_MS || waitsFor === this.#toldWaiting) return;
    this.#toldWaiting = waitsFor;
    onEvent({ kind: "gate-waits", waitsFor });
  }

  async #admit(process: ProcessId, opening: Opening): Promise<boolean> {
    const { paths, log, prepare } = this.#options;
    const text = await prepare(opening).catch((error: unknown) => {
      this.#waitsFor = `no files to start with: ${error instanceof Error ? error.message : String(error)}`;
      log.error({ err: error }, "the files of the server cannot be written");
      return undefined;
    });
    if (text === undefined) return false;
    // It may have been told to end while the files were written.
    if (this.#retired || !this.#lives(process)) return false;
    const admission: Admission = { process, fenced: true, synced: false };
    const passed = passGate(paths.gate, text, () => writeAdmission(paths.admission, admission));
    if (!passed) {
      clearAdmission(paths.admission);
      return false;
    }
    this.#looker.forget();
    this.#admission = admission;
    log.info({ as: opening.as, why: opening.why, pid: process.pid }, "the gate is opened");
    return true;
  }

  /** Running, until it is gone. */
  async #attend({ process }: Admission, signal: AbortSignal): Promise<void> {
    const { paths, clock } = this.#options;
    const began = clock.monotonic();
    const watching = new AbortController();
    const ended = new Wakeup();
    let closed = false;
    const onEnd = () => {
      closed = true;
      ended.notify();
    };
    const watch = watchServer(
      { clock, socketPath: paths.serverSocket, onEnd },
      AbortSignal.any([signal, watching.signal]),
    );
    while (!signal.aborted && (await this.#stillLives(process, closed, signal))) {
      closed = false;
      await this.#lookOnce(signal);
      this.#tellToEnd(process);
      await ended.wait(clock, this.#restMs(clock.monotonic() - began), signal, () => closed);
    }
    watching.abort();
    await watch;
    if (!signal.aborted) this.#bury(process, Math.round(clock.monotonic() - began));
  }

  #tellToEnd(server: ProcessId): void {
    const { clock, log } = this.#options;
    if (clock.monotonic() < this.#endsBy || !this.#lives(server)) return;
    this.#endsBy = Number.POSITIVE_INFINITY;
    log.warn({ pid: server.pid }, "its pod goes and the server runs on: it is told to end again");
    try {
      process.kill(server.pid, "SIGTERM");
    } catch (error) {
      // It has ended in this moment; or the agent may not, and the pod's grace ends it.
      log.warn({ pid: server.pid, err: error }, "the server cannot be told to end");
    }
  }

  async #lookOnce(signal: AbortSignal): Promise<void> {
    const { onEvent } = this.#options;
    const { silent, changes } = this.#looker;
    await this.#looker.fresh(0, signal);
    if (this.#looker.silent && !this.#toldSilent) onEvent({ kind: "silent" });
    this.#toldSilent = this.#looker.silent;
    onEvent({ kind: "looked", changed: this.#looker.changes !== changes || this.#looker.silent !== silent });
  }

  /** The table of a large cluster takes longer to read: its share of the processor stays the same. */
  #restMs(attendedMs: number): number {
    const { lookEveryMs = 1000 } = this.#options;
    const nodes = this.#looker.last?.cluster?.nodes.length ?? 0;
    if (this.#looker.settled) return lookEveryMs + MS_PER_NODE * nodes;
    return attendedMs < NEW_FOR_MS ? Math.min(UNSETTLED_MS, NEW_MS + MS_PER_NODE * nodes) : UNSETTLED_MS;
  }

  #bury({ pid }: ProcessId, afterMs: number): void {
    const { paths, log, reset, onEvent } = this.#options;
    const { answered } = this.#looker;
    this.#admission = undefined;
    this.#process = undefined;
    clearAdmission(paths.admission);
    this.#looker.forget();
    log.warn({ pid, afterMs, answered }, "the server has ended");
    reset();
    onEvent({ kind: "died", afterMs, answered });
    this.#news.notify();
  }

  /** After its connection closed the process is watched closely for a moment: it may be about to end. */
  async #stillLives(process: ProcessId, closed: boolean, signal: AbortSignal): Promise<boolean> {
    const looks = closed ? DYING_LOOKS : 0;
    for (let look = 0; look < looks && this.#lives(process); look += 1) {
      await pause(this.#options.clock, DYING_MS, signal);
    }
    return this.#lives(process);
  }
}
