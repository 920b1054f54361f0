/**
 * Runs an operator: caches first, then what every replica serves, then, while it leads, the controllers.
 *
 * The caches are warm before this replica asks for the lease, so that a new leader acts at once. When it is told to stop
 * it goes in order: not ready, controllers drained, lease released, services ended, caches ended. When leadership is
 * lost the controllers are cut off at once and the replica waits for its next term with caches and services running.
 * When a cache or service ends on its own, everything is stopped and `run` rejects: the process should end.
 */
import type { Logger } from "../log/log.ts";
import type { Running } from "./controller.ts";
import type { LeaderElector } from "./lease.ts";
import type { Term } from "./lease-term.ts";

/** Something that runs until its signal is aborted: a cache, a server, the writer of events. */
export interface Service {
  readonly name: string;
  run(signal: AbortSignal): Promise<void>;
  /** Resolves when it can be relied on. Defaults to at once. */
  ready?(signal: AbortSignal): Promise<void>;
}

export interface Startable {
  readonly name: string;
  /** For one term; stopped when that is over. */
  start(term: Term): Running;
}

export interface ManagerOptions {
  /** Started first and all at once. */
  readonly caches: readonly Service[];
  /** Started when all caches are synced; on every replica, leading or not. */
  readonly services: readonly Service[];
  readonly controllers: readonly Startable[];
  readonly elector: Pick<LeaderElector, "run" | "holder">;
  readonly log: Logger;
  /** How long runs may go on after a stop was asked for, before the lease is released. Defaults to 1500 ms. */
  readonly drainMs?: number;
}

export interface Health {
  /** Serves: caches synced and services ready. */
  readonly ready: boolean;
  readonly leading: boolean;
  /** What it is doing: for the readiness probe's body. */
  readonly phase: Phase;
}

export type Phase = "idle" | "syncing" | "starting" | "standby" | "leading" | "stopping" | "stopped";

export class Manager {
  readonly #options: ManagerOptions;
  #phase: Phase = "idle";
  #running: readonly { readonly name: string; readonly running: Running }[] = [];

  constructor(options: ManagerOptions) {
    this.#options = options;
  }

  get health(): Health {
    const leading = this.#phase === "leading";
    return { ready: leading || this.#phase === "standby", leading, phase: this.#phase };
  }

  /** For what no cache sees: the controller of that name looks at the key soon, if this replica leads. */
  wake(controller: string, key: string): void {
    for (const { name, running } of this.#running) if (name === controller) running.wake(key);
  }

  /** Until the signal is aborted and everything has ended; rejects when something failed before. */
  async run(signal: AbortSignal): Promise<void> {
    const { caches, services, elector } = this.#options;
    const life = new AbortController();
    const stop = AbortSignal.any([signal, life.signal]);
    const cacheGroup = new Group(this.#options.log, life);
    const serviceGroup = new Group(this.#options.log, life);
    try {
      this.#enter("syncing");
      await cacheGroup.start(caches, stop);
      this.#enter("starting");
      await serviceGroup.start(services, stop);
      if (!stop.aborted) this.#enter("standby");
      await elector.run(async (term) => this.#lead(term, stop), stop);
    } finally {
      this.#enter("stopping");
      await serviceGroup.stop();
      await cacheGroup.stop();
      this.#enter("stopped");
    }
    life.signal.throwIfAborted();
  }

  async #lead(term: Term, stop: AbortSignal): Promise<void> {
    const { controllers, drainMs = 1500, log } = this.#options;
    this.#running = controllers.map((controller) => ({ name: controller.name, running: controller.start(term) }));
    this.#enter("leading");
    await aborted(AbortSignal.any([term.signal, stop]));
    this.#enter(stop.aborted ? "stopping" : "standby");
    const stopping = this.#running;
    this.#running = [];
    const graceMs = term.signal.aborted ? 0 : drainMs;
    const unfinished = await Promise.all(stopping.map(async ({ running }) => running.stop(graceMs)));
    const keys = unfinished.flat();
    if (keys.length > 0) log.warn({ keys, graceMs }, "runs were cut off");
  }

  #enter(phase: Phase): void {
    if (this.#phase === phase) return;
    this.#options.log.info({ phase, before: this.#phase }, "manager");
    this.#phase = phase;
  }
}

/** Services that live and end together. */
class Group {
  readonly #log: Logger;
  /** Aborted, with the error, when one of them ends on its own. */
  readonly #life: AbortController;
  readonly #end = new AbortController();
  readonly #ended: Promise<void>[] = [];

  constructor(log: Logger, life: AbortController) {
    this.#log = log;
    this.#life = life;
  }

  /** Resolves when all are ready, or when `stop` is aborted. */
  async start(services: readonly Service[], stop: AbortSignal): Promise<void> {
    if (stop.aborted) return;
    this.#ended.push(...services.map(async (service) => this.#watch(service)));
    const ready = Promise.all(services.map(async (service) => service.ready?.(stop)));
    await Promise.race([ready.catch((error: unknown) => this.#failed(error, stop)), aborted(stop)]);
  }

  async stop(): Promise<void> {
    this.#end.abort(new Error("the manager stops"));
    await Promise.all(this.#ended);
  }

  async #watch(service: Service): Promise<void> {
    try {
      await service.run(this.#end.signal);
      if (!this.#end.signal.aborted) throw new Error(`${service.name} ended on its own`);
    } catch (error) {
      this.#failed(error, this.#end.signal);
    }
  }

  #failed(error: unknown, expected: AbortSignal): void {
    if (expected.aborted) return;
    this.#log.error({ err: error }, "a service failed, the manager stops");
    this.#life.abort(error);
  }
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  signal.addEventListener("abort", () => resolve(), { once: true });
  await promise;
}
