/** What a fault does to the frames of a watch on their way to the client. */
import { LineReader } from "../../pkg/kube/watch.ts";

export type FrameFault =
  | { readonly kind: "slow"; readonly delayMs: number }
  /** Some frames come twice, the second time at once or after the next one. */
  | { readonly kind: "duplicate"; readonly share: number }
  /** Some frames change places with the next one. */
  | { readonly kind: "reorder"; readonly share: number }
  /** Some frames never come: what no honest server does, and what the cache's comparison is there for. */
  | { readonly kind: "drop"; readonly share: number };

/** How long a frame is held back to let another pass, should none come. */
const HOLD_MS = 50;

export class FrameStream {
  readonly #write: (text: string) => void;
  readonly #fault: () => FrameFault | undefined;
  readonly #random: () => number;
  readonly #lines: LineReader;
  #behind: string[] = [];
  #last: Promise<void> = Promise.resolve();

  constructor(write: (text: string) => void, fault: () => FrameFault | undefined, random: () => number) {
    this.#write = write;
    this.#fault = fault;
    this.#random = random;
    this.#lines = new LineReader((line) => this.#pass(line));
  }

  push(chunk: Buffer): void {
    this.#lines.push(chunk);
  }

  /** Everything that is still on its way is out. */
  async drained(): Promise<void> {
    await this.#last;
    this.#release();
  }

  /** Frames keep their order while slow ones are still waiting. */
  #pass(line: string): void {
    const fault = this.#fault();
    const delayMs = fault?.kind === "slow" ? fault.delayMs : 0;
    this.#last = this.#last.then(async () => {
      if (delayMs > 0) await Bun.sleep(delayMs);
      this.#emit(line, fault);
    });
  }

  #emit(line: string, fault: FrameFault | undefined): void {
    const hit = fault !== undefined && fault.kind !== "slow" && this.#random() < fault.share;
    if (hit && fault.kind === "drop" && !line.includes('"BOOKMARK"')) return;
    if (hit && fault.kind === "reorder") return this.#hold(line);
    this.#write(`${line}\n`);
    this.#release();
    if (hit && fault.kind === "duplicate") this.#repeat(line);
  }

  #repeat(line: string): void {
    if (this.#random() < 0.5) this.#write(`${line}\n`);
    else this.#hold(line);
  }

  #hold(line: string): void {
    this.#behind.push(line);
    setTimeout(() => this.#release(), HOLD_MS);
  }

  #release(): void {
    for (const line of this.#behind.splice(0)) this.#write(`${line}\n`);
  }
}
