/** What failed may have failed because the machine was busy: which files are tried once more (docs/decisions/0016). */
import { tellsOfHarm } from "../test/lib/harm.ts";
import type { Outcome } from "./test-run.ts";

/** More of them are no accident. */
export const MOST_SECOND_ATTEMPTS = 3;

/** What failed because the machine was busy may be tried again; what was lost is lost. */
export function mayRunAgain({ counts, output }: Pick<Outcome, "counts" | "output">): boolean {
  return counts.failed > 0 && !tellsOfHarm(output);
}

/** Files of a run in which something failed, with how much. */
export function failedFiles(output: string): ReadonlyMap<string, number> {
  const failed = new Map<string, number>();
  let file = "";
  for (const line of Bun.stripANSI(output).split("\n")) {
    const [, name] = /^(\S+\.test\.ts):$/u.exec(line) ?? [];
    if (name !== undefined) file = name;
    // Bun lists the names of all once more at its end.
    if (/^\d+ tests? failed:$/u.test(line)) file = "";
    if (file !== "" && line.startsWith("(fail)")) failed.set(file, (failed.get(file) ?? 0) + 1);
  }
  return failed;
}

/** The second result of these files in the place of the first. */
export function afterSecond(first: Outcome, failedFirst: number, second: Outcome): Outcome {
  const { passed, failed, skipped } = first.counts;
  const still = second.counts.failed;
  const counts = { passed: passed + failedFirst - still, failed: failed - failedFirst + still, skipped };
  return { counts, output: `${first.output}\n${second.output}`, failures: second.failures };
}
