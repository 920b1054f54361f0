/** One watch connection: newline-separated JSON frames, read as they come, with a watchdog for silence. */
import type { IncomingMessage } from "node:http";
import { StringDecoder } from "node:string_decoder";
import * as v from "valibot";
import type { WatchEvent, WatchOptions } from "./client-options.ts";
import { errorOfFrame, KubeError } from "./kube-error.ts";
import { type LooseObject, type Parse, parseLoose } from "./resource.ts";
import type { KubeTransport } from "./transport.ts";
import { abortedError } from "./transport-deadline.ts";

export interface WatchTarget<T> {
  readonly action: string;
  readonly path: string;
  readonly parse: Parse<T>;
}

const IDLE_MS = 90_000;
/** etcd holds objects of 1.5 MB at most; a line far beyond that is not a frame. */
const LONGEST_FRAME = 64 * 1024 * 1024;

export async function watch<T>(
  transport: KubeTransport,
  target: WatchTarget<T>,
  on: (event: WatchEvent<T>) => void,
  options: WatchOptions,
): Promise<void> {
  const { signal, idleMs = IDLE_MS, deadlineMs } = options;
  const { action, path } = target;
  const message = await transport.open({ action, method: "GET", path, idempotent: true, signal, deadlineMs });
  options.onOpen?.();
  await readFrames(message, { action, signal, idleMs }, (line) => on(eventOf(target, line)));
}

interface Reading {
  readonly action: string;
  readonly signal: AbortSignal;
  readonly idleMs: number;
}

async function readFrames(message: IncomingMessage, reading: Reading, onLine: (line: string) => void): Promise<void> {
  const { action, signal, idleMs } = reading;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const lines = new LineReader(onLine);
  let heardAt = performance.now();
  message.on("data", (chunk: Buffer) => {
    heardAt = performance.now();
    try {
      lines.push(chunk);
    } catch (error) {
      reject(error);
    }
  });
  message.on("end", () => (message.complete ? resolve() : reject(cut(action))));
  message.on("error", (cause) => reject(cut(action, cause)));
  message.on("close", () => reject(cut(action)));
  const onAbort = () => reject(abortedError(action, signal));
  signal.addEventListener("abort", onAbort, { once: true });
  const watchdog = setInterval(() => {
    if (performance.now() - heardAt > idleMs) reject(idle(action, idleMs));
  }, idleMs / 4);
  try {
    if (signal.aborted) onAbort();
    await promise;
  } finally {
    clearInterval(watchdog);
    signal.removeEventListener("abort", onAbort);
    lines.stop();
    message.destroy();
  }
}

/** Cuts bytes into lines, whatever the chunks, and gives none after it was stopped. */
export class LineReader {
  readonly #onLine: (line: string) => void;
  readonly #decoder = new StringDecoder("utf8");
  #rest = "";
  #stopped = false;

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine;
  }

  push(chunk: Buffer): void {
    const text = this.#rest + this.#decoder.write(chunk);
    let from = 0;
    for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", from)) {
      if (this.#stopped) return;
      const line = text.slice(from, at);
      from = at + 1;
      if (line.trim() !== "") this.#onLine(line);
    }
    this.#rest = text.slice(from);
    if (this.#rest.length > LONGEST_FRAME) throw new RangeError(`a line of more than ${LONGEST_FRAME} characters`);
  }

  stop(): void {
    this.#stopped = true;
  }
}

const Bookmark = v.object({ metadata: v.object({ resourceVersion: v.string() }) });

function eventOf<T>({ action, parse }: WatchTarget<T>, line: string): WatchEvent<T> {
  const { type, object } = readFrame(action, line);
  switch (type) {
    case "ADDED":
    case "MODIFIED":
    case "DELETED":
      return changeOf(action, parse, { type, object });
    case "BOOKMARK":
      return { type, resourceVersion: checked(action, Bookmark, object).metadata.resourceVersion };
    case "ERROR":
      throw errorOfFrame(action, object);
    default:
      throw badFrame(action, `a frame of the unknown type ${JSON.stringify(type)}`);
  }
}

interface Change {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: unknown;
}

/** One object that its parser refuses must not end the watch of all others. */
function changeOf<T>(action: string, parse: Parse<T>, { type, object }: Change): WatchEvent<T> {
  try {
    return { type, object: parse(object) };
  } catch (error) {
    return { type: "UNREADABLE", object: looseOf(action, object), error: asError(error) };
  }
}

function looseOf(action: string, object: unknown): LooseObject {
  try {
    return parseLoose(object);
  } catch (cause) {
    throw badFrame(action, "an object without proper metadata", cause);
  }
}

/** Written by hand because it runs for every frame of every watch. */
function readFrame(action: string, line: string): { readonly type: string; readonly object: unknown } {
  const frame = parseLine(action, line);
  if (typeof frame === "object" && frame !== null && "type" in frame && typeof frame.type === "string") {
    return { type: frame.type, object: "object" in frame ? frame.object : undefined };
  }
  throw badFrame(action, "a line that is not a watch frame");
}

function parseLine(action: string, line: string): unknown {
  try {
    return JSON.parse(line);
  } catch (cause) {
    throw badFrame(action, "a line that is not JSON", cause);
  }
}

function checked<S extends v.GenericSchema>(action: string, schema: S, value: unknown): v.InferOutput<S> {
  const result = v.safeParse(schema, value);
  if (result.success) return result.output;
  throw badFrame(action, v.summarize(result.issues));
}

function badFrame(action: string, message: string, cause?: unknown): KubeError {
  return new KubeError({ code: "bad-response", action, message: `the server sent ${message}`, cause });
}

function cut(action: string, cause?: unknown): KubeError {
  return new KubeError({ code: "unreachable", action, message: "the connection broke", cause });
}

function idle(action: string, idleMs: number): KubeError {
  return new KubeError({ code: "idle", action, message: `no frame and no bookmark for ${idleMs / 1000} s` });
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
