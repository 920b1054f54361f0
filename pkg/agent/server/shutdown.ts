/** Ends a server, with or without a snapshot, and waits until its process is gone. */
import { readFile } from "node:fs/promises";
import { type Clock, pause } from "../../clock/clock.ts";
import type { ValkeyClient } from "../../valkey/client.ts";
import { infoText, parseInfo } from "../../valkey/info.ts";
import { pairsOf, textOf } from "../../valkey/replies.ts";
import { isValkeyError, reasonOf, ValkeyError } from "../../valkey/valkey-error.ts";

export interface ShutdownOptions {
  /** Blocks until the server has ended. */
  readonly client: ValkeyClient;
  /** A second connection: one that waits for its own end cannot say anything else. */
  readonly other: ValkeyClient;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** For saving and for replicas to catch up. */
  readonly waitMs: number;
}

const ACTION = "shut down";

/** Already ended counts as done. When it cannot be done in time the server is told to go on, and so is the caller. */
export async function shutDown(save: boolean, options: ShutdownOptions): Promise<void> {
  const server = await before(options.client, options.signal);
  if (server === undefined) return;
  const started = await startOf(server.pid);
  try {
    await end(save && server.persists ? "SAVE" : "NOSAVE", options);
    if (started !== undefined) await untilEnded({ pid: server.pid, started }, options);
  } catch (error) {
    if (!isValkeyError(error, "deadline", "aborted", "refused")) throw error;
    const message = `${reasonOf(error)}; ${await abort(options)}`;
    throw new ValkeyError({ code: error.code, action: ACTION, message, cause: error });
  }
}

interface Server {
  readonly pid: number;
  readonly persists: boolean;
}

/**
 * Undefined when nobody listens. Without snapshots and without an append-only file nothing is read back at the next
 * start, so nothing is written.
 */
async function before(client: ValkeyClient, signal: AbortSignal): Promise<Server | undefined> {
  const commands = [
    ["INFO", "server"],
    ["CONFIG", "GET", "save", "appendonly"],
  ];
  try {
    const [info, config] = await client.pipeline(commands, { signal });
    const settings = pairsOf("CONFIG GET", config);
    const pid = Number(infoText(parseInfo(textOf("INFO", info)), "process_id"));
    return { pid, persists: settings.get("save") !== "" || settings.get("appendonly") === "yes" };
  } catch (error) {
    if (isValkeyError(error, "unreachable")) return undefined;
    throw error;
  }
}

/** The server answers a shutdown only when it fails; success is the end of the connection. */
async function end(how: "SAVE" | "NOSAVE", { client, signal, waitMs }: ShutdownOptions): Promise<void> {
  try {
    await client.call(["SHUTDOWN", how], { signal, deadlineMs: waitMs });
  } catch (error) {
    // Nobody listens any more, or the connection was cut: the process tells which.
    if (!isValkeyError(error, "closed", "unreachable")) throw error;
  }
}

/** A shutdown that is still under way would end the server after the caller was told that it has not ended. */
async function abort({ other }: ShutdownOptions): Promise<string> {
  try {
    await other.call(["SHUTDOWN", "ABORT"], { deadlineMs: 1000 });
    return "it was told to go on";
  } catch (error) {
    if (isValkeyError(error, "refused")) return "it goes on";
    return `whether it goes on is not known: ${reasonOf(error)}`;
  }
}

interface Process {
  readonly pid: number;
  /** The number alone may be given to another process. */
  readonly started: string;
}

async function untilEnded({ pid, started }: Process, { clock, signal, waitMs }: ShutdownOptions): Promise<void> {
  const deadline = clock.monotonic() + waitMs;
  while ((await startOf(pid)) === started) {
    const passed = await pause(clock, 10, signal);
    if (passed && clock.monotonic() < deadline) continue;
    const message = `the connection ended, and process ${pid} has not`;
    throw new ValkeyError({ code: passed ? "deadline" : "aborted", action: ACTION, message });
  }
}

/** When the process started, in the kernel's ticks; undefined when it is gone or only waits to be reaped. */
async function startOf(pid: number): Promise<string | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  // The name stands in parentheses and may hold anything.
  const [state, ...fields] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return state === "Z" || state === "X" ? undefined : fields[18];
}
