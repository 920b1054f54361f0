/** What the scripts and the test runners share: where things are, steps that say how long they took, plain failures. */
import { join } from "node:path";

export const ROOT = join(import.meta.dir, "..");
export const DIST = join(ROOT, "dist");

/** A failure that a person can act on: printed as it is, without a stack. */
export class Trouble extends Error {
  override readonly name = "Trouble";
}

/** Says what is being done, does it, says how long it took. */
export async function step<T>(what: string, work: () => Promise<T>): Promise<T> {
  const began = performance.now();
  process.stderr.write(`- ${what} ...\n`);
  const result = await work();
  process.stderr.write(`  ${what}: ${seconds(performance.now() - began)}\n`);
  return result;
}

export function seconds(ms: number): string {
  return ms < 60_000
    ? `${(ms / 1000).toFixed(1)} s`
    : `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}

/**
 * Runs a script's main function: a Trouble ends it with its message, anything else with its stack. `script` is the
 * script's own file, whose first comment is what --help shows, and what arguments that it does not know are answered with.
 */
export async function main(run: () => Promise<number | void>, script?: string): Promise<never> {
  const usage = script === undefined ? "" : firstComment(await Bun.file(script).text());
  if (usage !== "" && process.argv.slice(2).some((word) => word === "--help" || word === "-h")) {
    process.stdout.write(`${usage}\n`);
    process.exit(0);
  }
  try {
    process.exit((await run()) ?? 0);
  } catch (error) {
    process.stderr.write(told(error, usage));
    process.exit(1);
  }
}

function told(error: unknown, usage: string): string {
  if (error instanceof Trouble) return `error: ${error.message}\n`;
  const arguments_ = error instanceof TypeError && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS");
  return arguments_ ? `error: ${error.message.split(". ")[0]}\n\n${usage}\n` : `${Bun.inspect(error)}\n`;
}

/** Without its stars. */
export function firstComment(source: string): string {
  const comment = /^\/\*\*(?<text>[\s\S]*?)\*\//u.exec(source)?.groups?.["text"] ?? "";
  return comment.replaceAll(/^ ?\* ?/gmu, "").trim();
}

export interface RunOptions {
  readonly cwd?: string;
  readonly env?: Record<string, string | undefined>;
  /** "inherit" shows the program's output as it comes; "quiet" shows it only when the program fails. */
  readonly output?: "inherit" | "quiet";
  readonly input?: string;
}

/** Runs a program to its end and returns what it printed; a non-zero exit is a Trouble that shows its output. */
export async function run(command: readonly string[], options: RunOptions = {}): Promise<string> {
  const inherit = options.output === "inherit";
  const child = Bun.spawn([...command], {
    cwd: options.cwd ?? ROOT,
    env: { ...process.env, ...options.env },
    stdin: options.input === undefined ? "ignore" : new Blob([options.input]),
    stdout: inherit ? "inherit" : "pipe",
    stderr: inherit ? "inherit" : "pipe",
  });
  const [out, err, code] = await Promise.all([text(child.stdout), text(child.stderr), child.exited]);
  if (code !== 0) throw new Trouble(`${command.join(" ")} ended with ${code}\n${out}${err}`.trimEnd());
  return out;
}

async function text(stream: ReadableStream<Uint8Array> | number | undefined): Promise<string> {
  return stream instanceof ReadableStream ? new Response(stream).text() : "";
}
