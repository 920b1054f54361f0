/**
 * The end-to-end tests: on a lab of this machine, or on a cluster that somebody has. On a lab every file is a run of its
 * own, so that one which leaves the lab unfit for use harms itself alone.
 */
import { join } from "node:path";
import { down, insideLab, isHealthy, type Lab, labEnv, up } from "../test/lab/lab.ts";
import { lookOf } from "../test/lab/status.ts";
import { tellsOfHarm } from "../test/lib/harm.ts";
import { DIST, run as runProgram, seconds } from "./lib.ts";
import { addCounts, NONE } from "./test-report.ts";
import { bunTest, type Outcome, testFiles } from "./test-run.ts";

const FOLDER = "./test/e2e";
const TIMEOUT_MS = 300_000;

/** The worst of faults comes last. */
const LAST = ["/chaos."];

export function inOrder(files: readonly string[]): string[] {
  const isLast = (file: string) => LAST.some((name) => file.includes(name));
  return [...files.filter((file) => !isLast(file)), ...files.filter(isLast)];
}

/** All files, one after another. */
export async function allOnLab(name: string, keep: boolean): Promise<Outcome> {
  const files = inOrder(testFiles([FOLDER]));
  const outcomes: Outcome[] = [];
  const shaky: string[] = [];
  const lab = await up(name);
  try {
    for (const [index, file] of files.entries()) {
      if (!(await becomesHealthy(lab))) await up(name);
      const left = `${files.length - index - 1} files left`;
      const outcome = await timed(lab, file, left);
      if (!deservesAnother(outcome, shaky.length)) {
        outcomes.push(outcome);
        continue;
      }
      console.log(`${file}: once more, on a new lab`);
      await up(name, { fresh: true });
      shaky.push(`${file}\n${outcome.failures}`);
      outcomes.push(await timed(lab, file, left));
    }
    if (shaky.length > 0) console.log(`== tried a second time, because at first:\n\n${shaky.join("\n\n")}`);
    return joined(outcomes);
  } finally {
    if (!keep) await down(name);
  }
}

async function timed(lab: Lab, file: string, left: string): Promise<Outcome> {
  const began = performance.now();
  const outcome = await onLab(lab, [file]);
  const { passed, failed } = outcome.counts;
  console.log(`${file}: ${passed} passed, ${failed} failed in ${seconds(performance.now() - began)}, ${left}`);
  return outcome;
}

/** More of them are no accident. */
const MOST_SECOND_ATTEMPTS = 3;

/** What failed because the machine was busy may be tried again; what was lost is lost (docs/decisions/0016). */
export function deservesAnother({ counts, output }: Pick<Outcome, "counts" | "output">, before: number): boolean {
  return counts.failed > 0 && before < MOST_SECOND_ATTEMPTS && !tellsOfHarm(output);
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
export async function onLab(lab: Lab, files: readonly string[], named?: string): Promise<Outcome> {
  const run = { timeoutMs: TIMEOUT_MS, env: labEnv(lab), prefix: insideLab(lab), named };
  const outcome = await bunTest(files, run);
  if (outcome.counts.failed === 0) return outcome;
  // Nobody can ask the lab later.
  return { ...outcome, failures: `${outcome.failures}\n\n${await lookOf(lab)}` };
}

function joined(outcomes: readonly Outcome[]): Outcome {
  return {
    counts: outcomes.map(({ counts }) => counts).reduce(addCounts, NONE),
    output: outcomes.map(({ output }) => output).join("\n"),
    failures: outcomes.flatMap(({ failures }) => (failures === "" ? [] : [failures])).join("\n\n"),
  };
}

export interface Elsewhere {
  readonly context: string;
  /** An operator image that this cluster can pull. */
  readonly image: string | undefined;
}

/** On the cluster of a kubeconfig's context. */
export async function onContext(where: Elsewhere, files: readonly string[], named?: string): Promise<Outcome> {
  return bunTest(files, { timeoutMs: TIMEOUT_MS, env: await contextEnv(where), named });
}

/** The named context alone in a kubeconfig of its own, so that nothing a test starts can reach another cluster. */
async function contextEnv({ context, image }: Elsewhere): Promise<Record<string, string>> {
  const config = await runProgram(["kubectl", "config", "view", "--minify", "--flatten", `--context=${context}`]);
  const file = join(DIST, `kubeconfig-${process.pid}`);
  await Bun.write(file, config, { mode: 0o600 });
  return { KUBECONFIG: file, KUBE_CONTEXT: context, ...(image === undefined ? {} : { OPERATOR_IMAGE: image }) };
}
