/** A run of bun's test runner: shown while it goes on, counted, and remembered where it failed. */
import { mkdir } from "node:fs/promises";
import { DIST, ROOT, seconds } from "./lib.ts";
import { addCounts, type Counts, failuresOf, NONE, readJunit } from "./test-report.ts";

export interface TestRun {
  /** Defaults to 10 s for one test. */
  readonly timeoutMs?: number;
  readonly env?: Record<string, string>;
  /** The words before the command. */
  readonly prefix?: readonly string[];
  /** Chooses tests by their names. */
  readonly named?: string | undefined;
  /** When what it prints is shown. Defaults to at once. */
  readonly print?: "at once" | "at the end";
  /** After which the whole run is killed and has failed: a process that hangs has no test whose time could be up. */
  readonly limitMs?: number;
}

export interface Outcome {
  readonly counts: Counts;
  /** All that was printed. */
  readonly output: string;
  /** Of that, what was said of the tests that failed. */
  readonly failures: string;
}

let runs = 0;

export async function bunTest(files: readonly string[], run: TestRun = {}): Promise<Outcome> {
  if (files.length === 0) return { counts: NONE, output: "", failures: "" };
  await mkdir(DIST, { recursive: true });
  runs += 1;
  const report = `${DIST}/test-${process.pid}-${runs}.xml`;
  const flags = [`--timeout=${run.timeoutMs ?? 10_000}`, "--reporter=junit", `--reporter-outfile=${report}`];
  const byName = run.named === undefined ? [] : ["--test-name-pattern", run.named];
  const command = [...(run.prefix ?? []), process.execPath, "test", ...flags, ...byName, ...files];
  const { code, output, killed } = await shown(command, run);
  const counts = await readJunit(report, code);
  if (!killed) return { counts, output, failures: failuresOf(output) };
  const end = `(fail) the whole run: it was killed when its time was up, ${seconds(run.limitMs ?? 0)}`;
  console.log(end);
  return { counts, output, failures: failuresOf(`${output}\n${end}\n`) };
}

export function joined(outcomes: readonly Outcome[]): Outcome {
  return {
    counts: outcomes.map(({ counts }) => counts).reduce(addCounts, NONE),
    output: outcomes.map(({ output }) => output).join("\n"),
    failures: outcomes.flatMap(({ failures }) => (failures === "" ? [] : [failures])).join("\n\n"),
  };
}

export function testFiles(folders: readonly string[]): string[] {
  return folders.flatMap((folder) => [...new Bun.Glob(`${folder}/**/*.test.ts`).scanSync({ cwd: ROOT })]).toSorted();
}

/** Runs a program and keeps what it prints, in the order in which it came. */
export async function shown(
  command: readonly string[],
  { env = {}, print = "at once", limitMs }: Pick<TestRun, "env" | "print" | "limitMs"> = {},
): Promise<{ code: number; output: string; killed: boolean }> {
  const colours = process.stdout.isTTY ? { FORCE_COLOR: "1" } : {};
  const child = Bun.spawn([...command], {
    cwd: ROOT,
    env: { ...process.env, ...colours, ...env },
    stdio: ["ignore", "pipe", "pipe"],
    ...(limitMs === undefined ? {} : { timeout: limitMs, killSignal: "SIGKILL" }),
  });
  const parts: string[] = [];
  const listen = async (stream: ReadableStream<Uint8Array>) => {
    const decoder = new TextDecoder();
    for await (const bytes of stream) {
      const text = decoder.decode(bytes, { stream: true });
      parts.push(text);
      if (print === "at once") process.stdout.write(text);
    }
  };
  const read = Promise.all([listen(child.stdout), listen(child.stderr)]);
  const code = await child.exited;
  // What it started may hold the other end of a pipe for longer than it lives.
  await Promise.race([read, Bun.sleep(500)]);
  const output = parts.join("");
  if (print === "at the end") process.stdout.write(output);
  return { code, output, killed: child.signalCode === "SIGKILL" && limitMs !== undefined };
}
