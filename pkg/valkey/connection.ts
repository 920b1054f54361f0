/**
 * One connection to a Valkey server over its unix socket or TCP.
 *
 * Our own and not a client library's, because the agent lives from what a library hides: the end of the connection must
 * be known within milliseconds of the server's death and must not be papered over by reconnecting, queueing or sending
 * again; and a command that was sent once is never sent twice. It costs a few kilobytes instead of a megabyte, in a
 * process of which there is one per server.
 */
import { connect, type Socket } from "node:net";
import { encodeCommand, type Reply, ReplyError, ReplyParser } from "./resp.ts";
import { reasonOf, ValkeyError } from "./valkey-error.ts";

export type ServerAddress = { readonly path: string } | { readonly host: string; readonly port: number };

export interface Login {
  /** Defaults to the default user. */
  readonly username?: string | undefined;
  readonly password: string;
}

export interface OpenOptions {
  readonly at: ServerAddress;
  readonly login?: Login | undefined;
  /** Ends the opening, not the connection. */
  readonly signal?: AbortSignal | undefined;
  /** For connecting and logging in together. Defaults to 2000. */
  readonly deadlineMs?: number;
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** Defaults to 2000. */
  readonly deadlineMs?: number;
}

const DEADLINE_MS = 2000;
/** Answers nobody waits for any more. A server that owes more is given up, so that a frozen one fills no memory. */
const MOST_FORSAKEN = 64;

interface Waiting {
  readonly action: string;
  readonly resolve: (reply: Reply) => void;
  readonly reject: (error: ValkeyError) => void;
}

export class ValkeyConnection {
  readonly #socket: Socket;
  readonly #parser = new ReplyParser();
  readonly #waiting: Waiting[] = [];
  readonly #closed = Promise.withResolvers<string>();
  #forsaken = 0;
  #end: string | undefined;

  static async open({ at, login, signal, deadlineMs = DEADLINE_MS }: OpenOptions): Promise<ValkeyConnection> {
    const deadline = performance.now() + deadlineMs;
    const connection = new ValkeyConnection(await dial(at, { signal, deadlineMs }));
    if (login === undefined) return connection;
    const user = login.username === undefined ? [] : [login.username];
    try {
      const options = { signal, deadlineMs: Math.max(1, deadline - performance.now()) };
      await connection.call(["AUTH", ...user, login.password], options);
      return connection;
    } catch (error) {
      connection.close("the login failed");
      throw error;
    }
  }

  private constructor(socket: Socket) {
    this.#socket = socket;
    // Without a data handler a socket never tells of its end.
    socket.on("data", (piece: Buffer) => this.#receive(piece));
    socket.on("error", (error) => this.#finish(error.message));
    socket.on("close", () => this.#finish("the server closed the connection"));
  }

  /** Resolves with the reason when the connection has ended, whoever ended it; within milliseconds of its server. */
  get closed(): Promise<string> {
    return this.#closed.promise;
  }

  get open(): boolean {
    return this.#end === undefined;
  }

  /** One command; an error that the server answers is thrown. */
  async call(args: readonly string[], options: CallOptions = {}): Promise<Reply> {
    const [reply = null] = await this.pipeline([args], options);
    if (reply instanceof ReplyError) throw refusal(actionOf(args), reply);
    return reply;
  }

  /** Several commands in one round trip, in order; errors that the server answers are among the replies. */
  async pipeline(commands: readonly (readonly string[])[], options: CallOptions = {}): Promise<readonly Reply[]> {
    const { signal, deadlineMs = DEADLINE_MS } = options;
    const action = actionOf(commands[0] ?? []);
    if (signal?.aborted === true) throw abortedError(action, signal);
    const replies = commands.map((args) => this.#expect(actionOf(args)));
    if (this.open) this.#socket.write(commands.map(encodeCommand).join(""));
    const { promise: given, reject: giveUp } = Promise.withResolvers<never>();
    const timer = setTimeout(() => giveUp(deadlineError(action, deadlineMs)), deadlineMs);
    const all = Promise.all(replies);
    try {
      return await unlessAborted(action, Promise.race([all, given]), signal);
    } catch (error) {
      all.catch(() => {});
      this.#forsake(commands.length);
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  close(reason = "closed by this side"): void {
    this.#finish(reason);
    this.#socket.destroy();
  }

  #expect(action: string): Promise<Reply> {
    if (this.#end !== undefined) return Promise.reject(closedError(action, this.#end));
    const { promise, resolve, reject } = Promise.withResolvers<Reply>();
    this.#waiting.push({ action, resolve, reject });
    return promise;
  }

  /** The late answers are still read, in their places: closing would lose the order of what was sent. */
  #forsake(count: number): void {
    this.#forsaken += count;
    if (this.#forsaken > MOST_FORSAKEN) this.close("the server owes too many answers");
  }

  #receive(piece: Buffer): void {
    try {
      for (const reply of this.#parser.push(piece)) this.#waiting.shift()?.resolve(reply);
      if (this.#waiting.length === 0) this.#forsaken = 0;
    } catch (error) {
      this.close(reasonOf(error));
    }
  }

  #finish(reason: string): void {
    if (this.#end !== undefined) return;
    this.#end = reason;
    for (const { action, reject } of this.#waiting.splice(0)) reject(closedError(action, reason));
    this.#closed.resolve(reason);
  }
}

function dial(at: ServerAddress, { signal, deadlineMs }: CallOptions & { deadlineMs: number }): Promise<Socket> {
  const action = `connect to ${addressText(at)}`;
  if (signal?.aborted === true) return Promise.reject(abortedError(action, signal));
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const socket = connect("path" in at ? { path: at.path } : { ...at, noDelay: true });
  const settle = (then: () => void) => {
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
    socket.removeAllListeners();
    then();
  };
  const fail = (error: ValkeyError) =>
    settle(() => {
      // A socket that is destroyed may still tell an error; unheard, that would end the process.
      socket.on("error", () => {});
      socket.destroy();
      reject(error);
    });
  const unreachable = (message: string, cause?: unknown) =>
    fail(new ValkeyError({ code: "unreachable", action, message, cause }));
  const onAbort = () => fail(abortedError(action, signal));
  const timer = setTimeout(() => fail(deadlineError(action, deadlineMs)), deadlineMs);
  signal?.addEventListener("abort", onAbort, { once: true });
  socket.once("error", (error) => unreachable(error.message, error));
  socket.once("close", () => unreachable("the server closed the connection at once"));
  socket.once("connect", () => settle(() => resolve(socket)));
  return promise;
}

export function addressText(at: ServerAddress): string {
  return "path" in at ? at.path : `${at.host}:${at.port}`;
}

/** What the promise gives, or an error as soon as the signal is aborted; the work itself goes on. */
export async function unlessAborted<T>(action: string, work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(abortedError(action, signal));
  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

/** These have subcommands that are worth naming and are never secret. */
const PARENTS = new Set(["ACL", "CLUSTER", "CLIENT", "CONFIG", "SHUTDOWN"]);

/** What an error may name: the command and its subcommand, no argument. */
export function actionOf(args: readonly string[]): string {
  const [command = "nothing", subcommand] = args.map((arg) => arg.toUpperCase());
  return subcommand !== undefined && PARENTS.has(command) ? `${command} ${subcommand}` : command;
}

const CODES: ReadonlyMap<string, "auth" | "busy" | "loading"> = new Map([
  ["BUSY", "busy"],
  ["LOADING", "loading"],
  ["NOAUTH", "auth"],
  ["NOPERM", "auth"],
  ["WRONGPASS", "auth"],
]);

/** The error of an error reply. */
export function refusal(action: string, reply: ReplyError): ValkeyError {
  return new ValkeyError({ code: CODES.get(reply.code) ?? "refused", action, message: reply.message, cause: reply });
}

function closedError(action: string, reason: string): ValkeyError {
  return new ValkeyError({ code: "closed", action, message: reason });
}

function deadlineError(action: string, deadlineMs: number): ValkeyError {
  const message = `no answer within ${Math.round(deadlineMs)} ms`;
  return new ValkeyError({ code: "deadline", action, message, hint: "is the server frozen or overloaded?" });
}

function abortedError(action: string, signal: AbortSignal | undefined): ValkeyError {
  return new ValkeyError({ code: "aborted", action, message: "stopped by the caller", cause: signal?.reason });
}
