/** A run of chaos: one fault after another on one cluster, under a client that writes, until the time is up. */
import { HealCluster } from "../e2e/heal-cluster.ts";
import { makeNamespace, openHealLab, removeNamespace } from "../e2e/heal-lab.ts";
import { harm } from "../lib/harm.ts";
import { type Loss, type LossWindow, lossesOf } from "../lib/losses.ts";
import { missing } from "../lib/witness/kept.ts";
import type { Report } from "../lib/write-client/report.ts";
import { WriteClient } from "../lib/write-client/write-client.ts";
import { evidence } from "./evidence.ts";
import { FAULTS } from "./faults.ts";
import { clock, judge } from "./judge.ts";
import { type Act, acts, type ChaosShape, shapeOf } from "./schedule.ts";
import { Stage } from "./stage.ts";

export interface ChaosOptions {
  readonly seed: number;
  readonly minutes: number;
  readonly progress: (line: string) => void;
}

export interface Event {
  readonly at: number;
  readonly what: string;
  readonly windows: readonly LossWindow[];
  /** From its beginning until the cluster was healthy again. */
  readonly tookMs: number;
  /** Why it was not. */
  readonly failure?: string;
}

export interface Outcome {
  readonly seed: number;
  readonly minutes: number;
  readonly shape: ChaosShape;
  readonly began: number;
  readonly events: readonly Event[];
  readonly report: Report;
  readonly losses: readonly Loss[];
  /** Writes that witnesses saw acknowledged, and how many of them waited for every replica. */
  readonly witnessed: number;
  readonly waited: number;
  /** What must never happen and did, in words. */
  readonly violations: readonly string[];
  /** The agents' last words, when there are violations. */
  readonly evidence: string;
}

const RATE = 150;
const RECOVERY_MS = 120_000;

export async function runChaos(options: ChaosOptions): Promise<Outcome> {
  const shape = shapeOf(options.seed);
  const lab = await openHealLab();
  const namespace = await makeNamespace("chaos");
  try {
    const cluster = new HealCluster({ namespace, name: "chaos" }, shape);
    await cluster.make(shape.volumes ? { pvc: { storageSize: "128Mi" } } : {});
    await using stage = new Stage(lab, cluster);
    return await play(stage, shape, options);
  } finally {
    await removeNamespace(namespace);
  }
}

async function play(stage: Stage, shape: ChaosShape, options: ChaosOptions): Promise<Outcome> {
  const { cluster } = stage;
  const began = Date.now();
  const addresses = await cluster.addresses();
  await using client = await WriteClient.start({ addresses, frontEnd: "prober", rate: RATE, drainMs: 30_000 });
  const events = await actOut(stage, began, options);
  const failures = events.flatMap(({ failure, what }) => (failure === undefined ? [] : [`after ${what}: ${failure}`]));
  const report = await client.stop();
  const acknowledged = await stage.stop();
  const windows = events.flatMap((event) => event.windows);
  const losses = lossesOf(report, windows);
  const waited = acknowledged.filter((one) => one.waited);
  // A cluster that is not whole cannot be asked for everything, and has been found wanting already.
  const gone = failures.length > 0 ? [] : await missing({ addresses: await cluster.addresses() }, waited);
  const findings = judge({ began, acknowledged, gone, taken: stage.copies.taken, losses, report });
  const violations = [...failures, ...harm("findings that must never be", findings)];
  const counts = { witnessed: acknowledged.length, waited: waited.length };
  const told = violations.length === 0 ? "" : await evidence(cluster.ref);
  const { seed, minutes } = options;
  return { seed, minutes, shape, began, events, report, losses, ...counts, violations, evidence: told };
}

/** Until the time is up, or until the cluster does not recover. */
async function actOut(stage: Stage, began: number, { seed, minutes, progress }: ChaosOptions): Promise<Event[]> {
  const events: Event[] = [];
  for (const act of acts(seed)) {
    if (Date.now() - began > minutes * 60_000) break;
    const event = await happen(stage, act);
    events.push(event);
    const { what, tookMs, failure } = event;
    progress(`${clock(event.at - began)} ${what}: ${failure ?? `healthy after ${(tookMs / 1000).toFixed(1)} s`}`);
    if (failure !== undefined) break;
  }
  return events;
}

/** The fault, whatever goes on beside it, and the recovery from both. */
async function happen(stage: Stage, act: Act): Promise<Event> {
  const at = Date.now();
  const all = [act, ...(act.companion === undefined ? [] : [act.companion])];
  // Settled, not raced: what one of them has broken is mended by it, even if the other cannot be done.
  const tried = await Promise.allSettled(all.map((one) => FAULTS[one.kind](stage, one)));
  const done = tried.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  const undone = all.flatMap((one, index) => {
    const outcome = tried[index];
    return outcome?.status === "rejected" ? [`${one.kind} could not be done (${Bun.inspect(outcome.reason)})`] : [];
  });
  const failure = undone.length > 0 ? undone.join("; ") : await recovery(stage);
  return {
    at,
    what: done.map(({ what }) => what).join("; meanwhile ") || all.map(({ kind }) => kind).join("; meanwhile "),
    windows: done.flatMap(({ windows }) => windows),
    tookMs: Date.now() - at,
    ...(failure === undefined ? {} : { failure }),
  };
}

/** Why the cluster did not recover; undefined when it did. */
async function recovery({ cluster }: Stage): Promise<string | undefined> {
  return cluster.healthy({ timeoutMs: RECOVERY_MS }).then(
    () => undefined,
    (error: unknown) => `not healthy within ${RECOVERY_MS / 1000} s (${Bun.inspect(error)})`,
  );
}
