/** A wait that can be cut short: by time, by `end`, or by a signal. An `end` between two waits cuts the next one. */
export class Pause {
  #end: (() => void) | undefined;
  #ended = false;

  async wait(ms: number, signal: AbortSignal): Promise<void> {
    if (this.#ended || signal.aborted) {
      this.#ended = false;
      return;
    }
    await new Promise<void>((resolve) => {
      const done = () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", done);
        this.#end = undefined;
        resolve();
      };
      const timer = setTimeout(done, ms);
      signal.addEventListener("abort", done, { once: true });
      this.#end = done;
    });
  }

  end(): void {
    if (this.#end === undefined) this.#ended = true;
    else this.#end();
  }
}
