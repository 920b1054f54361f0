/**
 * The gate itself: a FIFO that a starting server reads as the last part of its configuration. Opening it for reading
 * blocks until somebody opens it for writing, which the agent does only with its decision in hand.
 */
import { dlopen } from "bun:ffi";
import { closeSync, constants, lstatSync, openSync, rmSync, writeSync } from "node:fs";
import { isMissing } from "../files.ts";

/** What one write puts into a pipe whole or not at all. */
const ATOMIC_BYTES = 4096;
const OWNER_ONLY = 0o600;

/** The program's own command that does nothing but make one. */
export const MAKE_GATE = "make-gate";
const MAKE_MS = 5000;

/** Makes the FIFO unless it is there. It must be before the server can start. */
export function makeFifo(path: string): void {
  if (isFifo(path)) return;
  rmSync(path, { force: true, recursive: true });
  if (process.env["BUN_JSC_useJIT"] === "0") makeInChild(path);
  else makeHere(path);
  if (!isFifo(path))
    throw new Error(`cannot make the gate ${path}: is its folder a volume that this user may write to?`);
}

/** Neither Node's API nor an image without a shell has another way to make one than the C library. */
function makeHere(path: string): void {
  const libc = dlopen("libc.so.6", { mkfifo: { args: ["cstring", "u32"], returns: "i32" } });
  libc.symbols.mkfifo(Buffer.from(`${path}\0`), OWNER_ONLY);
  libc.close();
}

/** To call the C library takes the compiler that an agent runs without, to be small. */
function makeInChild(path: string): void {
  Bun.spawnSync([process.execPath, MAKE_GATE, path], { env: {}, timeout: MAKE_MS });
}

function isFifo(path: string): boolean {
  try {
    return lstatSync(path).isFIFO();
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

/**
 * Writes the text to the server that waits; says whether there was one. `noted` is called when one is surely there and
 * before it reads anything: what it notes down is never wrong by more than a server that ends at once, for want of the
 * text.
 */
export function passGate(path: string, text: string, noted: () => void): boolean {
  const bytes = Buffer.from(text);
  if (bytes.length > ATOMIC_BYTES)
    throw new Error(`a text of ${bytes.length} bytes does not pass the gate in one piece`);
  const gate = openForWriting(path);
  if (gate === undefined) return false;
  try {
    noted();
    writeSync(gate, bytes);
    return true;
  } catch (error) {
    // It ended between opening and reading.
    if (hasCode(error, "EPIPE")) return false;
    throw error;
  } finally {
    closeSync(gate);
  }
}

/** Without waiting: undefined when nobody reads. */
function openForWriting(path: string): number | undefined {
  try {
    return openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
  } catch (error) {
    if (hasCode(error, "ENXIO")) return undefined;
    throw error;
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
