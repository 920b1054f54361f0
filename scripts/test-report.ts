/** What a run of tests came to: numbers from the JUnit file that bun writes, reasons from what it prints. */
import { rm } from "node:fs/promises";

export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

export const NONE: Counts = { passed: 0, failed: 0, skipped: 0 };

export function addCounts(a: Counts, b: Counts): Counts {
  return { passed: a.passed + b.passed, failed: a.failed + b.failed, skipped: a.skipped + b.skipped };
}

/** A runner that failed without saying which test did (a crash, a file that does not load) counts as one failure. */
export async function readJunit(file: string, exitCode: number): Promise<Counts> {
  const text = await Bun.file(file)
    .text()
    .catch(() => "");
  await rm(file, { force: true });
  return countJunit(text, exitCode);
}

export function countJunit(text: string, exitCode: number): Counts {
  // No report at all is a failure whatever the runner's exit code says: nothing may pass by not being counted.
  if (text === "") return { ...NONE, failed: 1 };
  const root = /<testsuites\b[^>]*>/.exec(text)?.[0] ?? "";
  const number = (name: string) => Number(new RegExp(`\\b${name}="(\\d+)"`).exec(root)?.[1] ?? 0);
  const failed = number("failures") + number("errors");
  const skipped = number("skipped");
  const passed = number("tests") - failed - skipped;
  return { passed, skipped, failed: exitCode !== 0 && failed === 0 ? 1 : failed };
}

/** How much is said again of one failed test, and of one run. */
const LINES_EACH = 30;
const CHARACTERS = 9000;

/**
 * What was printed before each failed test, for the end of a long log: the reason is far up there, and where logs are
 * cut they are cut in the middle. The first failures come whole, the later ones as long as there is room.
 */
export function failuresOf(output: string): string {
  // Bun lists the names of all once more at its end.
  const [upToList = ""] = Bun.stripANSI(output).split(/^\d+ tests? failed:$/mu);
  const told: string[] = [];
  let since: string[] = [];
  for (const line of upToList.split("\n")) {
    since.push(line);
    if (line.startsWith("(fail)")) told.push(since.slice(-LINES_EACH).join("\n"));
    if (/^\((?:pass|fail|skip)\)/u.test(line)) since = [];
  }
  const whole = told.join("\n\n");
  return whole.length > CHARACTERS ? `${whole.slice(0, CHARACTERS)}\n[…]` : whole;
}
