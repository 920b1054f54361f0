/**
 * npm test                          everything: check, unit, runtime, e2e; ends with "N passed, N failed"
 * npm run test:unit [-- PATTERN]    beside the source, in seconds
 * npm run test:runtime              what we rely on of Bun and Valkey, on compiled binaries
 * npm run test:e2e [-- PATTERN]     on the lab; --keep leaves the lab up; --context NAME: on a cluster you have,
 *                                   with --image NAME for an operator image that it can pull
 */
import { parseArgs } from "node:util";
import { down, up } from "../test/lab/lab.ts";
import { whyNoLab } from "../test/lab/requirements.ts";
import { ensureServers } from "../test/lab/valkey.ts";
import { build } from "./build.ts";
import { allOnLab, onContext, onLab } from "./e2e.ts";
import { inLanes } from "./lanes.ts";
import { main, seconds, Trouble } from "./lib.ts";
import { afterSecond, failedFiles, MOST_SECOND_ATTEMPTS, mayRunAgain } from "./second-attempt.ts";
import { addCounts, type Counts, NONE } from "./test-report.ts";
import { bunTest, joined, type Outcome, shown, type TestRun, testFiles } from "./test-run.ts";

const PARTS = ["check", "unit", "runtime", "e2e"] as const;
type Part = (typeof PARTS)[number];

interface Options {
  readonly pattern: string | undefined;
  readonly context: string | undefined;
  readonly image: string | undefined;
  readonly keep: boolean;
}

/** Another name lets two checkouts test beside each other. */
const E2E_LAB = process.env["LAB_NAME"] ?? "test";

const UNIT = ["./cmd", "./images", "./pkg", "./plugin", "./scripts", "./test/bench", "./test/chaos", "./test/lib"];

async function runPart(part: Part, options: Options): Promise<Outcome> {
  switch (part) {
    case "check":
      return check();
    case "unit":
      await fetchServers();
      return inFolders(UNIT, options, { timeoutMs: UNIT_MS });
    case "runtime":
      await fetchServers();
      await buildBinaries();
      return inTwoLanes(["./test/runtime"], options, { timeoutMs: 60_000 });
    case "e2e":
      return endToEnd(options);
  }
}

/** Most take milliseconds; a busy machine may take its time. */
const UNIT_MS = 20_000;

async function check(): Promise<Outcome> {
  const { code, output } = await shown([process.execPath, "scripts/check.ts"]);
  const counts: Counts = code === 0 ? { ...NONE, passed: 1 } : { ...NONE, failed: 1 };
  return { counts, output, failures: code === 0 ? "" : output.slice(-MOST_OF_CHECK) };
}

/** Of its words, when it failed, at the end of everything. */
const MOST_OF_CHECK = 3000;

interface Choice {
  readonly files: readonly string[];
  readonly named?: string;
}

/** A pattern chooses files by name, else tests by name. */
function chosen(folders: readonly string[], pattern: string | undefined): Choice {
  const files = testFiles(folders);
  if (pattern === undefined) return { files };
  const byFile = files.filter((file) => file.includes(pattern));
  return byFile.length === 0 ? { files, named: pattern } : { files: byFile };
}

async function inFolders(folders: readonly string[], { pattern }: Options, run: TestRun = {}): Promise<Outcome> {
  const { files, named } = chosen(folders, pattern);
  return bunTest(files, { ...run, named });
}

/** Each takes a minute or two. */
const FILE_LIMIT_MS = 600_000;

/** Tests of processes wait more than they compute: every file is a run of its own, two at a time. */
async function inTwoLanes(folders: readonly string[], { pattern }: Options, run: TestRun): Promise<Outcome> {
  const { files, named } = chosen(folders, pattern);
  // A name is among all files, and a run in which nobody has it fails.
  if (named !== undefined) return bunTest(files, { ...run, named });
  const limited = { ...run, print: "at the end", limitMs: FILE_LIMIT_MS } as const;
  return joined(await inLanes(files, [1, 2], (file) => bunTest([file], limited)));
}

let servers: Promise<void> | undefined;

/** What tests start is made before the first of them, whose deadline does not have room for it. */
async function fetchServers(): Promise<void> {
  servers ??= ensureServers().then(
    () => undefined,
    (error: unknown) => {
      if (!(error instanceof Trouble)) throw error;
      console.log(`Not all servers are here, and tests that start one will fail: ${error.message}`);
    },
  );
  return servers;
}

async function buildBinaries(): Promise<void> {
  for (const name of ["valkey-operator", "valkey-sidecar", "kubectl-valkey"] as const) await build(name);
}

async function endToEnd({ pattern, context, image, keep }: Options): Promise<Outcome> {
  const { files, named } = chosen(["./test/e2e"], pattern);
  if (context !== undefined) {
    await buildBinaries();
    return onContext({ context, image }, files, named);
  }
  const why = whyNoLab();
  if (why !== undefined) {
    console.log(`skipped: the tests in test/e2e: ${why}`);
    return { counts: { ...NONE, skipped: 1 }, output: "", failures: "" };
  }
  await buildBinaries();
  if (pattern === undefined) return allOnLab(E2E_LAB, keep);
  const lab = await up(E2E_LAB);
  try {
    return await onLab(lab, files, { named });
  } finally {
    if (!keep) await down(E2E_LAB);
  }
}

/** Unit tests compute, and those of processes wait. */
const TOGETHER: readonly (readonly Part[])[] = [["check"], ["unit", "runtime"], ["e2e"]];

interface Timed {
  readonly part: Part;
  readonly outcome: Outcome;
}

async function timedPart(part: Part, options: Options): Promise<Timed> {
  const began = performance.now();
  console.log(`\n== ${part}`);
  const outcome = await runPart(part, options);
  const { passed, failed } = outcome.counts;
  console.log(`== ${part}: ${passed} passed, ${failed} failed in ${seconds(performance.now() - began)}`);
  return { part, outcome };
}

async function testMain(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      context: { type: "string" },
      image: { type: "string" },
      keep: { type: "boolean", default: false },
    },
  });
  const [first, ...rest] = positionals;
  const part = PARTS.find((name) => name === first);
  if (first !== undefined && part === undefined)
    throw new Trouble(`no part is named ${first}: there are ${PARTS.join(", ")}`);
  const { context, image, keep } = values;
  const options: Options = { pattern: rest[0], context, image, keep };
  return verdict(await partsOf(part === undefined ? TOGETHER : [[part]], options));
}

async function partsOf(groups: readonly (readonly Part[])[], options: Options): Promise<readonly Timed[]> {
  const all: Timed[] = [];
  for (const group of groups) {
    const tried = await Promise.all(group.map((part) => timedPart(part, options)));
    // Who ran with the machine to itself has had its chance, and end-to-end files have had a second one.
    if (group.length === 1) all.push(...tried);
    else for (const one of tried) all.push(await againAlone(one));
  }
  return all;
}

/** What failed beside something else is tried once more without. */
async function againAlone({ part, outcome }: Timed): Promise<Timed> {
  const failed = failedFiles(outcome.output);
  const again = [...failed].slice(0, MOST_SECOND_ATTEMPTS);
  if (again.length === 0 || failed.size > again.length || !mayRunAgain(outcome)) return { part, outcome };
  const files = again.map(([file]) => `./${file}`);
  console.log(`== ${part}: once more, and alone: ${files.join(" ")}; at first:\n\n${outcome.failures}\n`);
  const second = await bunTest(files, { timeoutMs: ALONE_MS, limitMs: FILE_LIMIT_MS });
  const failures = again.reduce((sum, [, count]) => sum + count, 0);
  return { part, outcome: afterSecond(outcome, failures, second) };
}

/** Of one test. */
const ALONE_MS = 60_000;

/** Says what came of it; the exit code. */
function verdict(parts: readonly Timed[]): number {
  const total = parts.reduce((sum, { outcome }) => addCounts(sum, outcome.counts), NONE);
  const failed = parts.filter(({ outcome }) => outcome.failures !== "");
  const reasons = failed.map(({ part, outcome }) => `== what failed of ${part}\n${outcome.failures}`);
  if (reasons.length > 0) console.log(`\n${reasons.join("\n\n")}`);
  const skipped = total.skipped > 0 ? `, ${total.skipped} skipped` : "";
  console.log(`\n${total.passed} passed, ${total.failed} failed${skipped}`);
  return total.failed === 0 && total.passed + total.skipped > 0 ? 0 : 1;
}

await main(testMain, import.meta.path);
