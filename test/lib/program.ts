/** A program that a test runs and watches: its lines as they come, its end, and nothing left behind. */
import type { Subprocess } from "bun";
import { until, within } from "./until.ts";

export interface ProgramOptions {
  readonly cwd?: string;
  /** The whole environment. Defaults to that of the test. */
  readonly env?: Record<string, string>;
  readonly uid?: number;
  /** How long it may take to its end. Defaults to 60000. */
  readonly timeoutMs?: number;
}

export interface Ending {
  readonly code: number | null;
  readonly signal: string | null;
  readonly out: string;
  readonly err: string;
}

export class Program implements AsyncDisposable {
  readonly #process: Subprocess<"pipe", "pipe", "pipe">;
  readonly #options: ProgramOptions;
  readonly #reading: Promise<unknown>;
  #out = "";
  #err = "";

  constructor(command: readonly string[], options: ProgramOptions = {}) {
    // The kernel ends it when the test process dies, however it dies.
    const leash = Bun.which("setpriv") === null ? [] : ["setpriv", "--pdeathsig", "KILL"];
    const asUser =
      options.uid === undefined ? [] : [`--reuid=${options.uid}`, `--regid=${options.uid}`, "--clear-groups"];
    this.#options = options;
    this.#process = Bun.spawn([...leash, ...asUser, ...command], {
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
      env: options.env ?? process.env,
      stdin: "pipe",
      stdout: "pipe",
      stderr: "pipe",
    });
    this.#reading = Promise.all([
      this.#read(this.#process.stdout, (text) => (this.#out += text)),
      this.#read(this.#process.stderr, (text) => (this.#err += text)),
    ]);
  }

  /** Runs it to its end. */
  static async run(command: readonly string[], options: ProgramOptions = {}): Promise<Ending> {
    await using program = new Program(command, options);
    return await program.ending();
  }

  get pid(): number {
    return this.#process.pid;
  }

  get out(): string {
    return this.#out;
  }

  /** The lines of standard output that are JSON objects, so far. */
  get messages(): readonly Record<string, unknown>[] {
    const lines = this.#out.split("\n").slice(0, -1);
    return lines.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  /** The value that a message has under the key, as soon as one comes; `after` skips so many messages. */
  async message(key: string, after = 0): Promise<unknown> {
    const found = await until(
      `a message with ${key} from the program`,
      () => {
        const message = this.messages.slice(after).find((message) => key in message);
        if (message === undefined && this.#process.exitCode !== null)
          throw new Error(`it ended:\n${this.#out}${this.#err}`);
        return message;
      },
      { timeoutMs: 30_000, everyMs: 5 },
    );
    return found[key];
  }

  say(line: string): void {
    void this.#process.stdin.write(`${line}\n`);
    void this.#process.stdin.flush();
  }

  signal(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
  }

  async ending(): Promise<Ending> {
    await within("the program's end", this.#options.timeoutMs ?? 60_000, () => this.#process.exited);
    await this.#reading;
    const { exitCode, signalCode } = this.#process;
    const signal = signalCode === null ? null : String(signalCode);
    return { code: signal === null ? exitCode : null, signal, out: this.#out, err: this.#err };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.kill("SIGKILL");
    await this.#process.exited;
  }

  async #read(stream: ReadableStream<Uint8Array>, take: (text: string) => void): Promise<void> {
    const decoder = new TextDecoder();
    for await (const piece of stream) take(decoder.decode(piece, { stream: true }));
  }
}
