/**
 * The end-to-end tests: on a lab of this machine, or on a cluster that somebody has. On a lab every file is a run of its
 * own, so that one which leaves the lab unfit for use harms itself alone.
 */
import { availableParallelism, freemem } from "node:os";
import { join } from "node:path";
import { down, insideLab, isHealthy, type Lab, labEnv, openLab, up } from "../test/lab/lab.ts";
import { lookOf } from "../test/lab/status.ts";
import { inLanes } from "./lanes.ts";
import { DIST, run as runProgram, seconds } from "./lib.ts";
import { MOST_SECOND_ATTEMPTS, mayRunAgain } from "./second-attempt.ts";
import { NONE } from "./test-report.ts";
import { bunTest, joined, type Outcome, type TestRun, testFiles } from "./test-run.ts";

const FOLDER = "./test/e2e";
const TIMEOUT_MS = 300_000;

/**
 * They state how soon something happens, or that no client sees an error meanwhile, so nothing else may run beside them.
 * The worst of faults comes last.
 */
const ALONE = [
  "/rolling-back.",
  "/rolling-change.",
  "/rolling-stops.",
  "/rolling-surge.",
  "/handover-",
  "/failover-by-hand.",
  "/heal-crash.",
  "/heal-load.",
  "/heal-node.",
  "/chaos.",
];
/** They wait for times to pass, most of the time: what runs alone does not feel them. */
const QUIET = [
  "/heal-soak.",
  "/pki-rotation.",
  "/pki-traffic.",
  "/cluster-trouble.",
  "/leader-election.",
  "/operator-refusal.",
  "/trouble-quota.",
  "/leader-unreachable.",
  "/operator-leader.",
];
/** They take minutes, and the machine: begun at one end of the row, one after the other. */
const LONG = ["/rolling-", "/heal-quorum.", "/heal-disk.", "/heal-", "/volumes-"];
/** They want an API server whose objects nobody looks after, and every other file leaves the operator behind. */
const WITHOUT_OPERATOR = ["/api-", "/apply-", "/cache-", "/crds."];

export interface Order {
  /** On any lab, beside each other: one takes from the front, the other from the end. */
  readonly beside: readonly string[];
  /** After those, one by one. */
  readonly alone: readonly string[];
  /** One by one on a second lab meanwhile. */
  readonly quiet: readonly string[];
}

export function inOrder(files: readonly string[]): Order {
  const named = (names: readonly string[]) => names.flatMap((name) => files.filter((file) => file.includes(name)));
  const [alone, quiet, first, last] = [named(ALONE), named(QUIET), named(LONG), named(WITHOUT_OPERATOR)];
  const middle = files.filter((file) => !last.includes(file));
  const elsewhere = new Set([...alone, ...quiet]);
  const beside = [...new Set([...first, ...middle, ...last])].filter((file) => !elsewhere.has(file));
  return { beside, alone, quiet };
}

const LEAST_CORES = 2;
/** Two labs with their clusters, and what else the machine does. */
const LEAST_MEMORY = 12 * 2 ** 30;

/** Most of these tests wait most of the time, so two at once take little more than half as long (docs/decisions/0017). */
function labsFor(name: string): readonly string[] {
  const isEnough = availableParallelism() >= LEAST_CORES && freemem() >= LEAST_MEMORY;
  return isEnough ? [name, `${name.slice(0, 7)}2`] : [name];
}

interface Tried {
  readonly file: string;
  readonly outcome: Outcome;
}

/** All files: those that may on two labs at once, then the others beside those that wait, then once more what failed. */
export async function allOnLab(name: string, keep: boolean): Promise<Outcome> {
  const { beside, alone, quiet } = inOrder(testFiles([FOLDER]));
  const left = new Countdown(beside.length + alone.length + quiet.length);
  const names = labsFor(name);
  try {
    const labs: Lab[] = [];
    for (const one of names) labs.push(await up(one));
    // With one lab, those without an operator come first all the same.
    const row = labs.length === 1 ? [...beside.toReversed(), ...quiet] : beside;
    const tried = await inLanes(row, labs, (file, lab) => onFitLab(lab, file, left));
    const [, second] = names;
    const waiting = second === undefined ? undefined : thenDown(second, quiet, left);
    tried.push(...(await oneByOne(name, alone, left)), ...((await waiting) ?? []));
    return joined(await againWhereItMay(name, tried));
  } finally {
    if (!keep) for (const one of names) await down(one);
  }
}

async function thenDown(name: string, files: readonly string[], left: Countdown): Promise<readonly Tried[]> {
  const tried = await oneByOne(name, files, left);
  await down(name);
  return tried;
}

async function oneByOne(name: string, files: readonly string[], left: Countdown): Promise<readonly Tried[]> {
  const tried: Tried[] = [];
  for (const file of files) tried.push(await onFitLab(await openLab(name), file, left));
  return tried;
}

class Countdown {
  #left: number;

  constructor(files: number) {
    this.#left = files;
  }

  next(): string {
    this.#left -= 1;
    return `${this.#left} files left`;
  }
}

async function onFitLab(lab: Lab, file: string, left: Countdown): Promise<Tried> {
  if (!(await becomesHealthy(lab))) await up(lab.lab);
  return timed(lab, file, left);
}

/** The longest takes a few minutes on a quiet machine. */
const FILE_LIMIT_MS = 1_500_000;

/** What it printed comes in one piece, because another file may run beside it. */
async function timed(lab: Lab, file: string, left: Countdown): Promise<Tried> {
  const began = performance.now();
  console.log(`${file}: begins on lab "${lab.lab}"`);
  const outcome = await onLab(lab, [file], { print: "at the end", limitMs: FILE_LIMIT_MS });
  const { passed, failed } = outcome.counts;
  console.log(`${file}: ${passed} passed, ${failed} failed in ${seconds(performance.now() - began)}, ${left.next()}`);
  return { file, outcome };
}

/** On a new lab each, with the machine to itself; its second result counts. */
async function againWhereItMay(name: string, tried: readonly Tried[]): Promise<readonly Outcome[]> {
  const again = tried.filter(({ outcome }) => mayRunAgain(outcome)).slice(0, MOST_SECOND_ATTEMPTS);
  const left = new Countdown(again.length);
  const outcomes = tried.filter((one) => !again.includes(one)).map(({ outcome }) => outcome);
  for (const { file } of again) {
    console.log(`${file}: once more, on a new lab`);
    const lab = await up(name, { fresh: true });
    outcomes.push((await timed(lab, file, left)).outcome);
  }
  const words = again.map(({ file, outcome }) => `${file}\n${outcome.failures}`);
  if (again.length > 0) console.log(`== tried a second time, because at first:\n\n${words.join("\n\n")}`);
  return outcomes;
}

/** A machine that was cut off may need a while. */
const RECOVERY_MS = 60_000;

async function becomesHealthy(lab: Lab): Promise<boolean> {
  const end = performance.now() + RECOVERY_MS;
  while (!(await isHealthy(lab))) {
    if (performance.now() > end) return false;
    await Bun.sleep(500);
  }
  return true;
}

/** Chosen files on one lab. */
export async function onLab(
  lab: Lab,
  files: readonly string[],
  run: Pick<TestRun, "named" | "print" | "limitMs"> = {},
): Promise<Outcome> {
  const outcome = await bunTest(files, { ...run, timeoutMs: TIMEOUT_MS, env: labEnv(lab), prefix: insideLab(lab) });
  if (outcome.counts.failed === 0) return outcome;
  // Nobody can ask the lab later.
  return { ...outcome, failures: `${outcome.failures}\n\n${await lookOf(lab)}` };
}

export interface Elsewhere {
  readonly context: string;
  /** An operator image that this cluster can pull. */
  readonly image: string | undefined;
}

/** On the cluster of a kubeconfig's context. */
export async function onContext(where: Elsewhere, files: readonly string[], named?: string): Promise<Outcome> {
  const env = await contextEnv(where);
  const { first, rest } = onGivenCluster(files);
  if (first.length === 0 || !(await hasOperator(env)))
    return bunTest([...first, ...rest], { timeoutMs: TIMEOUT_MS, env, named });
  console.log(`skipped: ${first.join(", ")}: they want a cluster without an operator, and this one has one`);
  const skipped: Outcome = { counts: { ...NONE, skipped: first.length }, output: "", failures: "" };
  if (rest.length === 0) return skipped;
  return joined([skipped, await bunTest(rest, { timeoutMs: TIMEOUT_MS, env, named })]);
}

/** Every file leaves the operator behind, but for those that want none. */
export function onGivenCluster(files: readonly string[]): { first: readonly string[]; rest: readonly string[] } {
  const isFirst = (file: string) => WITHOUT_OPERATOR.some((name) => file.includes(name));
  return { first: files.filter(isFirst), rest: files.filter((file) => !isFirst(file)) };
}

async function hasOperator(env: Record<string, string>): Promise<boolean> {
  const deployment = ["deployment/valkey-operator", "-n", "valkey-operator-system"];
  return (await runProgram(["kubectl", "get", ...deployment, "--ignore-not-found", "-o", "name"], { env })) !== "";
}

/** The named context alone in a kubeconfig of its own, so that nothing a test starts can reach another cluster. */
async function contextEnv({ context, image }: Elsewhere): Promise<Record<string, string>> {
  const config = await runProgram(["kubectl", "config", "view", "--minify", "--flatten", `--context=${context}`]);
  const file = join(DIST, `kubeconfig-${process.pid}`);
  await Bun.write(file, config, { mode: 0o600 });
  return { KUBECONFIG: file, KUBE_CONTEXT: context, ...(image === undefined ? {} : { OPERATOR_IMAGE: image }) };
}
