/**
 * The shape in which every kind is reconciled: observe, decide, act.
 *
 * - `observe` reads caches and reports into one plain value. It does no I/O.
 * - `plan` is pure: from what is wanted, what is there and the time, the steps to take now, and the holds: named reasons
 *   why something that is wanted does not happen yet.
 * - `act` does one step. Each step is idempotent: it may be cut off anywhere and is planned anew from what is there then.
 *
 * Steps of one lane are taken in order and end with the first failure; lanes go side by side, so that one stuck shard or
 * agent does not hold up the others of its deployment. Nothing is decided for a key before the caches show what was
 * last written for it.
 */
import { type Clock, systemClock } from "../clock/clock.ts";
import type { Logger } from "../log/log.ts";
import type { Source } from "./controller-source.ts";
import type { Expectations } from "./expectations.ts";
import type { Term } from "./lease-term.ts";
import { type Failure, type RunResult, WorkQueue } from "./queue.ts";
import type { QueueMetrics } from "./queue-metrics.ts";

export { type ObjectCache, type ObjectChange, type Source, watches } from "./controller-source.ts";

export interface Step {
  /** Names the step in logs, errors and the status: `apply-service`. */
  readonly do: string;
  /** Defaults to the lane of all that name none. */
  readonly lane?: string | undefined;
}

export interface Hold {
  /** `replica-not-in-sync` */
  readonly name: string;
  /** `shard 2, 34 s` */
  readonly reason: string;
}

export interface Plan<S extends Step> {
  readonly steps: readonly S[];
  readonly holds: readonly Hold[];
  /** Look again after this long even if nothing changes. Defaults to never, or to 1 s after any step. */
  readonly requeueAfterMs?: number | undefined;
}

export interface StepFailure<S extends Step> {
  readonly step: S;
  readonly error: unknown;
}

export interface Observation<W, V> {
  readonly wanted: W;
  readonly view: V;
}

export interface ActContext {
  readonly key: string;
  /** Under which writes are expected to show up: for Applier and Expectations. */
  readonly owner: string;
  readonly signal: AbortSignal;
  readonly term: Term;
  /** Throws unless this process leads; right before every write and command. */
  readonly guard: () => void;
  readonly log: Logger;
}

export interface Controller<W, V, S extends Step> {
  readonly name: string;
  readonly sources: readonly Source[];
  /** Undefined when there is nothing of this key any more. */
  observe(key: string): Observation<W, V> | undefined;
  plan(wanted: W, view: V, now: Date): Plan<S>;
  act(step: S, context: ActContext): Promise<void>;
  /** Tells the user what was planned, what holds and what failed: status and events. */
  report?(told: Told<W, V, S>, context: ActContext): Promise<void>;
  /** Keys at the same time. Defaults to 4. */
  readonly workers?: number;
  /** How long one run may take. Defaults to 60 s. */
  readonly runDeadlineMs?: number;
}

export interface Told<W, V, S extends Step> extends Observation<W, V> {
  readonly plan: Plan<S>;
  readonly failures: readonly StepFailure<S>[];
}

export interface ControllerDeps {
  readonly expectations: Expectations;
  readonly log: Logger;
  readonly clock?: Clock;
  readonly metrics?: QueueMetrics | undefined;
  readonly random?: () => number;
}

/** A controller at work for one term. */
export interface Running {
  /** For what the caches do not see, such as the report of an agent. */
  wake(key: string): void;
  /** Gives the keys whose runs did not end within the grace. */
  stop(graceMs: number): Promise<readonly string[]>;
}

const AFTER_STEPS_MS = 1000;

/** To be stopped when the term is over. */
export function startController<W, V, S extends Step>(
  controller: Controller<W, V, S>,
  deps: ControllerDeps,
  term: Term,
): Running {
  const log = deps.log.child({ controller: controller.name });
  const queue = new WorkQueue({
    ...queueOptions(controller, deps),
    run: async (key, signal) =>
      reconcile(controller, deps, contextOf({ key, signal, term, log, name: controller.name })),
    onFailure: (failure) => logFailure(log, failure),
  });
  const ends = controller.sources.map((source) => source.subscribe((key, priority) => queue.add(key, { priority })));
  queue.start();
  return {
    wake: (key) => queue.add(key, { priority: "high" }),
    stop: async (graceMs) => {
      for (const end of ends) end();
      return queue.stop(graceMs);
    },
  };
}

function queueOptions<W, V, S extends Step>(controller: Controller<W, V, S>, deps: ControllerDeps) {
  const { clock = systemClock, metrics, random = Math.random } = deps;
  const { name, workers = 4, runDeadlineMs = 60_000 } = controller;
  return { name, workers, runDeadlineMs, clock, metrics, random };
}

function contextOf(run: Pick<ActContext, "key" | "signal" | "term" | "log"> & { readonly name: string }): ActContext {
  const { key, term, log } = run;
  const signal = AbortSignal.any([run.signal, term.signal]);
  const guard = () => {
    signal.throwIfAborted();
    term.check();
  };
  return { key, owner: `${run.name}:${key}`, signal, term, guard, log: log.child({ object: key }) };
}

async function reconcile<W, V, S extends Step>(
  controller: Controller<W, V, S>,
  deps: ControllerDeps,
  context: ActContext,
): Promise<RunResult> {
  context.guard();
  const pendingMs = deps.expectations.pendingMs(context.owner);
  // The cache's change wakes the key; this is for the case that it never comes.
  if (pendingMs > 0) return { requeueAfterMs: pendingMs };
  const observed = controller.observe(context.key);
  if (observed === undefined) {
    deps.expectations.forget(context.owner);
    return {};
  }
  const now = new Date((deps.clock ?? systemClock).wall());
  const plan = controller.plan(observed.wanted, observed.view, now);
  const failures = await takeSteps(controller, plan.steps, context);
  context.signal.throwIfAborted();
  await controller.report?.({ ...observed, plan, failures }, context);
  if (failures.length > 0) throw stepsFailed(failures);
  return { requeueAfterMs: plan.requeueAfterMs ?? (plan.steps.length > 0 ? AFTER_STEPS_MS : undefined) };
}

async function takeSteps<W, V, S extends Step>(
  controller: Controller<W, V, S>,
  steps: readonly S[],
  context: ActContext,
): Promise<readonly StepFailure<S>[]> {
  const lanes = Map.groupBy(steps, ({ lane }) => lane ?? "");
  const results = await Promise.all([...lanes.values()].map(async (lane) => takeLane(controller, lane, context)));
  return results.filter((failure) => failure !== undefined);
}

async function takeLane<W, V, S extends Step>(
  controller: Controller<W, V, S>,
  steps: readonly S[],
  context: ActContext,
): Promise<StepFailure<S> | undefined> {
  for (const step of steps) {
    try {
      context.guard();
      context.log.debug({ step: step.do, lane: step.lane }, "step");
      await controller.act(step, context);
      context.log.debug({ step: step.do, lane: step.lane }, "step done");
    } catch (error) {
      return { step, error };
    }
  }
  return undefined;
}

function stepsFailed(failures: readonly StepFailure<Step>[]): Error {
  const texts = failures.map(
    ({ step, error }) => `${step.do}${step.lane === undefined ? "" : ` (${step.lane})`}: ${text(error)}`,
  );
  return new AggregateError(
    failures.map(({ error }) => error),
    texts.join("; "),
  );
}

function text(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function logFailure(log: Logger, { key, error, failures, retryInMs }: Failure): void {
  log.warn({ object: key, err: error, failures, retryInMs: Math.round(retryInMs) }, "reconcile failed");
}
