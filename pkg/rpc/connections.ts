/** All connections of a server's callers: judged again when trust changes, closed when idle for long or out of time. */
import type { IncomingMessage } from "node:http";
import type { Http2ServerRequest, ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import type { Clock } from "../clock/clock.ts";
import { formatSpiffeId, type SpiffeId } from "../pki/pki.ts";
import { Connection, type Ending, type Trust } from "./connection.ts";
import type { Refusals } from "./refusals.ts";
import type { RpcMetrics } from "./rpc-metrics.ts";

export interface ConnectionsOptions {
  readonly server: string;
  readonly metrics: RpcMetrics;
  readonly refusals: Refusals;
  readonly clock: Clock;
  readonly trust: () => Trust;
  /** A connection without a call for so long is closed: its caller may be gone without a word. */
  readonly idleMs: number;
  /** How long calls under way may go on when their connection is not trusted any more. */
  readonly graceMs: number;
  /** A caller has closed the last of its connections. */
  readonly onGone: (caller: SpiffeId) => void;
}

const SWEEP_MS = 15_000;

export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #all = new Set<Connection>();
  /** By HTTP/2 session, or by the socket of HTTP/1.1. */
  readonly #known = new WeakMap<object, Connection>();
  /** Closed, and cut off after the grace; how to take that back. */
  readonly #expelled = new Map<Connection, () => void>();
  #cancelSweep: () => void;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    this.#cancelSweep = this.#sweepLater();
  }

  addSession(session: ServerHttp2Session): void {
    const ending = { close: () => session.close(), graceful: true, destroy: () => session.destroy() };
    session.once("close", () => this.#remove(session));
    this.#add(session, session.socket, ending);
  }

  addSocket(socket: Socket): void {
    socket.once("close", () => this.#remove(socket));
    this.#add(socket, socket, { close: () => socket.end(), graceful: false, destroy: () => socket.destroy() });
  }

  ofRequest(request: Http2ServerRequest | IncomingMessage): Connection | undefined {
    const key = "stream" in request ? request.stream.session : request.socket;
    return key === undefined || key === null ? undefined : this.#known.get(key);
  }

  /** Closes those whose certificates are not good any more. */
  async review(): Promise<void> {
    const { clock, refusals, trust } = this.#options;
    for (const connection of this.#all) {
      const standing = await connection.standing(trust(), clock.wall());
      if (standing.ok || this.#expelled.has(connection)) continue;
      const caller = connection.peer.ok ? formatSpiffeId(connection.peer.id) : "unknown";
      refusals.add(standing.reason, { why: standing.message, caller, remote: connection.remote });
      this.#expel(connection);
    }
  }

  /** No new calls on any; those under way go on. */
  closeAll(): void {
    this.#cancelSweep();
    for (const connection of this.#all) connection.close();
  }

  destroyAll(): void {
    for (const connection of this.#all) connection.destroy();
  }

  #add(key: object, socket: unknown, ending: Ending): void {
    const connection = new Connection(socket, ending, this.#options.clock.monotonic());
    this.#known.set(key, connection);
    this.#all.add(connection);
    this.#options.metrics.connections.set({ server: this.#options.server }, this.#all.size);
  }

  #remove(key: object): void {
    const connection = this.#known.get(key);
    if (connection === undefined) return;
    this.#known.delete(key);
    this.#all.delete(connection);
    this.#expelled.get(connection)?.();
    this.#expelled.delete(connection);
    this.#options.metrics.connections.set({ server: this.#options.server }, this.#all.size);
    if (!connection.closing) this.#tellGone(connection);
  }

  /** One that comes back under a new certificate has the new connection before it closes the old one. */
  #tellGone({ peer }: Connection): void {
    if (!peer.ok) return;
    const caller = formatSpiffeId(peer.id);
    const others = [...this.#all].some((other) => other.peer.ok && formatSpiffeId(other.peer.id) === caller);
    if (!others) this.#options.onGone(peer.id);
  }

  #expel(connection: Connection): void {
    const { clock, graceMs } = this.#options;
    connection.close();
    this.#expelled.set(
      connection,
      clock.after(graceMs, () => connection.destroy()),
    );
  }

  #sweepLater(): () => void {
    return this.#options.clock.after(SWEEP_MS, () => {
      this.#sweepIdle();
      this.#cancelSweep = this.#sweepLater();
      void this.review();
    });
  }

  #sweepIdle(): void {
    const now = this.#options.clock.monotonic();
    for (const connection of this.#all) {
      if (!this.#expelled.has(connection) && connection.idleFor(now) >= this.#options.idleMs) this.#expel(connection);
    }
  }
}
