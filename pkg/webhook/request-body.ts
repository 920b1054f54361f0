/**
 * Reads the body of a request, never more of it than allowed and never longer than its signal says. All bodies under
 * way share one amount of memory: anybody in the cluster can reach the port, and must not be able to fill us up.
 */
import type { Readable } from "node:stream";

export type BodyProblem = "too-large" | "busy" | "cut-off" | "deadline";
export type BodyResult =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly problem: BodyProblem };

export class BodyMemory {
  readonly limit: number;
  readonly #inAll: number;
  #used = 0;

  /** `limit` for one body, `inAll` for all at once, in bytes. */
  constructor(limit: number, inAll: number) {
    this.limit = limit;
    this.#inAll = inAll;
  }

  /** Runs the work with a share of its own, which ends with it. */
  async share<T>(work: (take: (bytes: number) => BodyProblem | undefined) => Promise<T>): Promise<T> {
    let mine = 0;
    const take = (bytes: number): BodyProblem | undefined => {
      if (mine + bytes > this.limit) return "too-large";
      if (this.#used + bytes > this.#inAll) return "busy";
      mine += bytes;
      this.#used += bytes;
      return undefined;
    };
    try {
      return await work(take);
    } finally {
      this.#used -= mine;
    }
  }
}

export async function readBody(
  request: Readable,
  take: (bytes: number) => BodyProblem | undefined,
  signal: AbortSignal,
): Promise<BodyResult> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    const end = (result: BodyResult) => {
      signal.removeEventListener("abort", onAbort);
      request.removeListener("data", onData);
      // What still comes is thrown away: an unread body would hold the connection.
      request.resume();
      resolve(result);
    };
    const onAbort = () => end({ ok: false, problem: "deadline" });
    const onData = (chunk: Buffer) => {
      const problem = take(chunk.length);
      if (problem === undefined) chunks.push(chunk);
      else end({ ok: false, problem });
    };
    signal.addEventListener("abort", onAbort, { once: true });
    request.on("data", onData);
    request.once("end", () => end({ ok: true, text: Buffer.concat(chunks).toString("utf8") }));
    request.once("error", () => end({ ok: false, problem: "cut-off" }));
    request.once("close", () => end({ ok: false, problem: "cut-off" }));
    if (signal.aborted) onAbort();
  });
}
