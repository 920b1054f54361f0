/**
 * One connection to a Valkey server over TCP, TLS or a unix socket. It hides nothing: no reconnecting, no retrying, no
 * queueing, so that a test sees at once what the server or the network did.
 */
import { connect as connectTcp, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { encodeCommand, type Reply, ReplyError, ReplyParser } from "../../../pkg/valkey/resp.ts";

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** PEM texts, and the name to verify when the server is dialled by another name than its certificate carries. */
export interface TlsFiles {
  readonly ca: string;
  readonly cert?: string;
  readonly key?: string;
  readonly servername?: string;
}

export interface Credentials {
  /** Addresses of names, where no DNS tells them: the name is still the one that is verified. The prober knows it alone. */
  readonly hosts?: Readonly<Record<string, string>> | undefined;
  readonly tls?: TlsFiles | undefined;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
}

export type ConnectOptions = Credentials & {
  readonly at: Address | { readonly path: string };
  /** For connecting and authenticating together. Defaults to 2000. */
  readonly timeoutMs?: number;
};

/** Why a connection could not be made or ended: kind is short and stable, such as refused, closed or timeout. */
export class ConnectionLost extends Error {
  override readonly name = "ConnectionLost";
  readonly kind: string;
  constructor(kind: string, message: string, cause?: unknown) {
    super(message, { cause });
    this.kind = kind;
  }
}

interface Waiting {
  readonly resolve: (reply: Reply) => void;
  readonly reject: (error: Error) => void;
}

export class Connection {
  readonly #socket: Socket;
  readonly #parser = new ReplyParser();
  readonly #waiting: Waiting[] = [];
  #ended: ConnectionLost | undefined;
  /** Resolves with the reason when the connection has ended, whoever ended it. */
  readonly ended: Promise<ConnectionLost>;
  readonly #tellEnd: (reason: ConnectionLost) => void;

  /** Connects and, when a password is given, authenticates. */
  static async open(options: ConnectOptions): Promise<Connection> {
    const { timeoutMs = 2000, username, password } = options;
    const deadline = performance.now() + timeoutMs;
    const connection = new Connection(await dial(options, timeoutMs));
    if (password === undefined) return connection;
    const silent = new ConnectionLost("connect-timeout", `no answer to AUTH within ${timeoutMs} ms`);
    const timer = setTimeout(() => connection.close(silent), deadline - performance.now());
    try {
      await connection.call("AUTH", ...(username === undefined ? [] : [username]), password);
    } catch (error) {
      connection.close();
      throw error;
    } finally {
      clearTimeout(timer);
    }
    return connection;
  }

  private constructor(socket: Socket) {
    this.#socket = socket;
    const { promise, resolve } = Promise.withResolvers<ConnectionLost>();
    this.ended = promise;
    this.#tellEnd = resolve;
    socket.on("data", (piece: Buffer) => this.#receive(piece));
    socket.on("error", (error) => this.#end(lost(error)));
    socket.on("close", () => this.#end(new ConnectionLost("closed", "the connection was closed")));
  }

  get open(): boolean {
    return this.#ended === undefined;
  }

  /** The server's answer as it is, an error reply too; rejects only when the connection ends first. */
  send(...args: string[]): Promise<Reply> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended);
    const { promise, resolve, reject } = Promise.withResolvers<Reply>();
    this.#waiting.push({ resolve, reject });
    this.#socket.write(encodeCommand(args));
    return promise;
  }

  /** Like send, but an error reply is thrown. */
  async call(...args: string[]): Promise<Reply> {
    const reply = await this.send(...args);
    if (reply instanceof ReplyError) throw reply;
    return reply;
  }

  /** Answers still awaited fail with the reason. */
  close(reason = new ConnectionLost("closed", "the connection was closed by this side")): void {
    this.#end(reason);
    this.#socket.destroy();
  }

  #receive(piece: Buffer): void {
    try {
      for (const reply of this.#parser.push(piece)) this.#waiting.shift()?.resolve(reply);
    } catch (error) {
      this.#socket.destroy(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #end(reason: ConnectionLost): void {
    if (this.#ended !== undefined) return;
    this.#ended = reason;
    for (const { reject } of this.#waiting.splice(0)) reject(reason);
    this.#tellEnd(reason);
  }
}

function dial({ at, tls, hosts = {} }: ConnectOptions, timeoutMs: number): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const where = "path" in at ? at.path : `${at.host}:${at.port}`;
  const place = "path" in at ? at : { host: hosts[at.host] ?? at.host, port: at.port };
  const socket = tls === undefined ? connectTcp({ ...place, noDelay: true }) : dialTls(at, place, tls);
  const timer = setTimeout(() => {
    socket.destroy();
    reject(new ConnectionLost("connect-timeout", `no connection to ${where} within ${timeoutMs} ms`));
  }, timeoutMs);
  const fail = (reason: ConnectionLost) => {
    clearTimeout(timer);
    reject(new ConnectionLost(reason.kind, `connecting to ${where}: ${reason.message}`, reason));
  };
  const onError = (error: Error) => fail(lost(error));
  const onClose = () => fail(new ConnectionLost("closed", "the server closed the connection at once"));
  socket.once("error", onError);
  socket.once("close", onClose);
  socket.once(tls === undefined ? "connect" : "secureConnect", () => {
    clearTimeout(timer);
    socket.off("error", onError);
    socket.off("close", onClose);
    resolve(socket);
  });
  return promise;
}

function dialTls(at: ConnectOptions["at"], place: ConnectOptions["at"], tls: TlsFiles): Socket {
  const host = "path" in at ? "" : at.host;
  // A name is sent and verified; an address can only be verified, and the peer's certificate has to carry it.
  const servername = tls.servername ?? (isIP(host) === 0 ? host : undefined);
  const socket = connectTls({ ...place, ...tls, ...(servername === undefined ? {} : { servername }) });
  socket.setNoDelay(true);
  return socket;
}

const KINDS: Record<string, string> = {
  ECONNREFUSED: "refused",
  ECONNRESET: "closed",
  EPIPE: "closed",
  EHOSTUNREACH: "unreachable",
  ENETUNREACH: "unreachable",
  ETIMEDOUT: "timeout",
  ENOTFOUND: "name-unknown",
  ENOENT: "refused",
};

function lost(error: Error): ConnectionLost {
  const code = "code" in error && typeof error.code === "string" ? error.code : "error";
  return new ConnectionLost(KINDS[code] ?? code, error.message, error);
}
