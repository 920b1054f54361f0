/**
 * Asks agents: often while their deployment is on its way somewhere, and otherwise only those that have fallen silent.
 * Who does not answer is asked less and less often.
 */
import type { Clock } from "../../clock/clock.ts";
import type { AgentTarget } from "./agent-hub.ts";
import type { AgentRecord } from "./agent-record.ts";

export interface AgentWatchOptions {
  readonly clock: Clock;
  readonly record: (target: AgentTarget) => AgentRecord;
  /** Never rejects. */
  readonly ask: (target: AgentTarget) => Promise<void>;
}

interface Watched {
  targets: readonly AgentTarget[];
  closely: boolean;
  cancel: () => void;
}

/** Between two looks at a deployment on its way; more for a large one. */
const CLOSE_MS = 300;
const CLOSE_MS_PER_AGENT = 4;
const IDLE_MS = 3000;
/** Two heartbeats and a bit. */
const SILENT_MS = 12_000;
const FIRST_RETRY_MS = 200;
const LONGEST_RETRY_MS = 5000;
/** Questions under way at the same time, of all deployments. */
const MOST_QUESTIONS = 64;

export class AgentWatch {
  readonly #options: AgentWatchOptions;
  readonly #watched = new Map<string, Watched>();
  #questions = 0;

  constructor(options: AgentWatchOptions) {
    this.#options = options;
  }

  set(deployment: string, targets: readonly AgentTarget[], closely: boolean): void {
    const known = this.#watched.get(deployment);
    if (known === undefined) {
      const watched = { targets, closely, cancel: () => {} };
      this.#watched.set(deployment, watched);
      this.#look(watched);
      return;
    }
    const sooner = (closely && !known.closely) || targets.some((target) => !this.#options.record(target).known);
    known.targets = targets;
    known.closely = closely;
    if (sooner) this.#look(known);
  }

  delete(deployment: string): void {
    this.#watched.get(deployment)?.cancel();
    this.#watched.delete(deployment);
  }

  stop(): void {
    for (const deployment of this.#watched.keys()) this.delete(deployment);
  }

  #look(watched: Watched): void {
    watched.cancel();
    const { clock, ask } = this.#options;
    for (const target of watched.targets) {
      if (this.#questions >= MOST_QUESTIONS) break;
      if (!this.#isDue(target, watched)) continue;
      this.#questions += 1;
      void ask(target).then(() => {
        this.#questions -= 1;
      });
    }
    watched.cancel = clock.after(pauseMs(watched), () => this.#look(watched));
  }

  #isDue(target: AgentTarget, watched: Watched): boolean {
    const { asking, askAt, heardAt, known, misses } = this.#options.record(target);
    if (asking) return false;
    const now = this.#options.clock.monotonic();
    if (misses > 0 && now - askAt < retryMs(misses)) return false;
    if (!known || misses > 0) return true;
    return watched.closely ? now - askAt >= pauseMs(watched) * 0.9 : now - heardAt >= SILENT_MS;
  }
}

function pauseMs({ closely, targets }: Watched): number {
  return closely ? Math.max(CLOSE_MS, targets.length * CLOSE_MS_PER_AGENT) : IDLE_MS;
}

function retryMs(misses: number): number {
  return Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(misses - 1, 10));
}
