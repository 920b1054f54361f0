/** The asking end of a peer stream: opened with the first question, opened anew by the first one after it ended. */
import type { ClientHttp2Stream } from "node:http2";
import type { Clock } from "../clock/clock.ts";
import { encodeFrame, FrameReader } from "./frames.ts";

export interface PeerAskerOptions {
  readonly clock: Clock;
  /** Opens the stream; rejects when the peer cannot be reached or is another. */
  readonly open: () => Promise<ClientHttp2Stream>;
  /** The peer does not answer any more: its connection may be dead. */
  readonly lost: () => void;
  /** Nobody asks on it any more. */
  readonly closed: () => void;
  readonly messageLimit: number;
}

interface Waiting {
  readonly on: ClientHttp2Stream;
  readonly resolve: (answer: Uint8Array) => void;
  readonly reject: (error: Error) => void;
  readonly cancel: () => void;
}

const LAST_ID = 2 ** 32 - 1;
const LEAVE_MS = 100;
const NOBODY = "nobody is asked there any more";

export class PeerAsker {
  readonly #options: PeerAskerOptions;
  readonly #waiting = new Map<number, Waiting>();
  #opening: Promise<ClientHttp2Stream> | undefined;
  #stream: ClientHttp2Stream | undefined;
  #id = 0;
  #closed = false;

  constructor(options: PeerAskerOptions) {
    this.#options = options;
  }

  /** Rejects when there is no answer in time; a stream that does not answer is given up, and all on it with it. */
  async ask(question: Uint8Array, timeoutMs: number): Promise<Uint8Array> {
    const stream = await this.#open();
    const id = this.#id;
    this.#id = id === LAST_ID ? 0 : id + 1;
    const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
    const late = () => {
      this.#end(stream, new Error(`no answer within ${timeoutMs} ms`));
      this.#options.lost();
    };
    const cancel = this.#options.clock.after(timeoutMs, late);
    this.#waiting.set(id, { on: stream, resolve, reject, cancel });
    stream.write(encodeFrame({ id, body: question }));
    return promise;
  }

  /** A new stream takes the place of the one that is open, without a moment in which there is none. */
  refresh(): void {
    const before = this.#stream;
    if (before === undefined) return;
    void this.#begin()
      .then(() => this.#leave(before))
      // The old one is as good as it was; the peer ends it when it trusts it no more.
      .catch(() => {});
  }

  close(): void {
    this.#closed = true;
    this.#options.closed();
    if (this.#stream !== undefined) this.#end(this.#stream, new Error(NOBODY));
  }

  async #open(): Promise<ClientHttp2Stream> {
    if (this.#stream !== undefined) return this.#stream;
    this.#opening ??= this.#begin().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  async #begin(): Promise<ClientHttp2Stream> {
    const stream = await this.#options.open();
    if (this.#closed) {
      stream.on("error", () => {});
      stream.close();
      throw new Error(NOBODY);
    }
    const reader = new FrameReader(this.#options.messageLimit);
    const end = (error?: Error) => this.#end(stream, error ?? new Error("the peer ended the stream"));
    stream.on("error", end);
    stream.on("close", () => end());
    stream.on("end", () => end());
    stream.on("data", (piece: Buffer) => {
      try {
        for (const { id, body } of reader.push(piece)) this.#answered(id, body);
      } catch (error) {
        end(error instanceof Error ? error : new Error(String(error)));
      }
    });
    this.#stream = stream;
    return stream;
  }

  #answered(id: number, body: Uint8Array): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    this.#waiting.delete(id);
    waiting.cancel();
    waiting.resolve(body);
  }

  #end(stream: ClientHttp2Stream, error: Error): void {
    if (this.#stream === stream) this.#stream = undefined;
    for (const [id, { on, reject, cancel }] of this.#waiting) {
      if (on !== stream) continue;
      this.#waiting.delete(id);
      cancel();
      reject(error);
    }
    if (!stream.destroyed) stream.destroy();
  }

  /** Ends a stream that was replaced, once what was asked on it is answered. */
  #leave(stream: ClientHttp2Stream): void {
    const asked = [...this.#waiting.values()].some(({ on }) => on === stream);
    if (asked) this.#options.clock.after(LEAVE_MS, () => this.#leave(stream));
    else stream.close();
  }
}
