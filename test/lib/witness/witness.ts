/** Somebody on a node who writes to the servers there, also while the node is cut off from everybody else. */
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import * as v from "valibot";
import { inNetwork } from "../../lab/host.ts";
import { Acknowledgement, type Instruction, type WitnessedServer } from "./acknowledgement.ts";

const PROGRAM = `${import.meta.dir}/main.ts`;

export class Witness implements AsyncDisposable {
  readonly acknowledged: Acknowledgement[] = [];
  readonly #child: Bun.Subprocess<"pipe", "pipe", "inherit">;
  readonly #reading: Promise<void>;

  /** In the network of a host of the lab, a node's or the control host's. */
  static on(host: string): Witness {
    return new Witness(inNetwork(host));
  }

  /** In the network of whoever calls. */
  static here(): Witness {
    return new Witness([]);
  }

  private constructor(prefix: readonly string[]) {
    this.#child = Bun.spawn([...prefix, process.execPath, PROGRAM], { stdio: ["pipe", "pipe", "inherit"] });
    this.#reading = this.#read();
  }

  /** From now on these and no others. */
  async watch(servers: readonly WitnessedServer[]): Promise<void> {
    const instruction: Instruction = { servers: [...servers] };
    await this.#child.stdin.write(`${JSON.stringify(instruction)}\n`);
    await this.#child.stdin.flush();
  }

  /** Ends it; what it has seen is all here then. */
  async stop(): Promise<readonly Acknowledgement[]> {
    await this.#child.stdin.end();
    await this.#reading;
    await this.#child.exited;
    return this.acknowledged;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#child.exited;
  }

  async #read(): Promise<void> {
    const lines = createInterface({ input: Readable.fromWeb(this.#child.stdout) });
    for await (const line of lines) this.acknowledged.push(v.parse(Acknowledgement, JSON.parse(line)));
  }
}
