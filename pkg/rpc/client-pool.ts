/** The lines to all targets: one each, opened by the first call, renewed with our identity, forgotten when idle. */
import type { ClientHttp2Stream, OutgoingHttpHeaders } from "node:http2";
import type { LookupFunction } from "node:net";
import type { SecureContext } from "node:tls";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Clock } from "../clock/clock.ts";
import type { Logger } from "../log/log.ts";
import { formatSpiffeId, type SpiffeId } from "../pki/pki.ts";
import { type CallOptions, contextOfIdentity, Line } from "./client-line.ts";
import { type IdentitySource, sameIdentity, type TlsIdentity } from "./identity.ts";
import type { RpcMetrics } from "./rpc-metrics.ts";

export interface Target {
  readonly http: "2" | "1.1";
  /** An origin: `https://10.0.0.7:8444`. */
  readonly url: string;
  readonly expected: SpiffeId;
}

export interface ClientPoolOptions {
  readonly identity: IdentitySource;
  readonly metrics: RpcMetrics;
  readonly log: Logger;
  readonly clock: Clock;
  readonly idleMs: number;
  readonly lookup: LookupFunction;
  readonly calls: CallOptions;
  /** After every change of our identity. */
  readonly onRenewed: () => void;
}

/** For a handshake on a machine that is busy. */
const OPEN_MS = 10_000;

function keyOf({ http, url, expected }: Target): string {
  return `${http} ${url} ${formatSpiffeId(expected)}`;
}

interface Channel {
  readonly target: Target;
  line: Line;
  lastUsed: number;
}

export class ClientPool {
  readonly #options: ClientPoolOptions;
  readonly #channels = new Map<string, Channel>();
  /** Lines that take no new call and wait for the end of their last one. */
  readonly #retired = new Set<Line>();
  readonly #unsubscribe: () => void;
  readonly #unmeasure: () => void;
  #identity: TlsIdentity;
  #context: SecureContext;
  #cancelSweep: (() => void) | undefined;
  #closed = false;

  constructor(options: ClientPoolOptions) {
    this.#options = options;
    this.#identity = options.identity.current();
    this.#context = contextOfIdentity(this.#identity);
    this.#unsubscribe = options.identity.subscribe(() => this.#renew(options.identity.current()));
    this.#unmeasure = options.metrics.targets.onScrape(() => this.#measure());
  }

  get size(): number {
    return this.#channels.size;
  }

  /** Runs a call on the target's line; `lost` says whether its failure means that nobody may be there any more. */
  async use<T>(target: Target, call: (line: Line) => Promise<T>, lost: (error: unknown) => boolean): Promise<T> {
    const key = keyOf(target);
    const { line } = this.#channel(key, target);
    line.callsUnderWay += 1;
    try {
      return await call(line);
    } catch (error) {
      // The next call begins anew, with a fresh look at the name.
      if (lost(error)) this.#drop(key, line);
      throw error;
    } finally {
      line.callsUnderWay -= 1;
      this.#endIfOver(line);
      const channel = this.#channels.get(key);
      if (channel !== undefined) channel.lastUsed = this.#options.clock.monotonic();
    }
  }

  /** A stream that stays open on the target's line, which is given up when it cannot be opened in time. */
  async stream(target: Target, path: string, headers: OutgoingHttpHeaders): Promise<ClientHttp2Stream> {
    const key = keyOf(target);
    const { line } = this.#channel(key, target);
    const { promise: late, reject } = Promise.withResolvers<never>();
    const cancel = this.#options.clock.after(OPEN_MS, () => reject(new Error(`no stream within ${OPEN_MS} ms`)));
    line.callsUnderWay += 1;
    const over = () => {
      line.callsUnderWay -= 1;
      this.#endIfOver(line);
    };
    try {
      if (line.stream === undefined) throw new Error("HTTP/1.1 has no streams");
      const stream = await Promise.race([line.stream(path, headers), late]);
      line.streams.add(stream);
      stream.once("close", () => {
        line.streams.delete(stream);
        over();
      });
      return stream;
    } catch (error) {
      over();
      this.#drop(key, line);
      throw error;
    } finally {
      cancel();
      late.catch(() => {});
    }
  }

  /** The next call to the target begins anew. */
  giveUp(target: Target): void {
    const key = keyOf(target);
    const line = this.#channels.get(key)?.line;
    if (line !== undefined) this.#drop(key, line);
  }

  /** Calls under way fail. */
  close(): void {
    this.#closed = true;
    this.#unsubscribe();
    this.#unmeasure();
    this.#cancelSweep?.();
    for (const { line } of this.#channels.values()) line.end();
    for (const line of this.#retired) line.end();
    this.#channels.clear();
    this.#retired.clear();
  }

  #channel(key: string, target: Target): Channel {
    if (this.#closed) throw new ConnectError("this program stops and calls nobody any more", Code.Canceled);
    const known = this.#channels.get(key);
    if (known !== undefined) return known;
    const { lookup, calls, clock } = this.#options;
    const line = new Line({ ...target, context: this.#context, lookup, calls });
    const channel = { target, line, lastUsed: clock.monotonic() };
    this.#channels.set(key, channel);
    this.#cancelSweep ??= this.#sweepLater();
    return channel;
  }

  /** New calls go out under the new identity at once; those under way end under the old one. */
  #renew(identity: TlsIdentity): void {
    if (sameIdentity(identity, this.#identity)) return;
    try {
      this.#context = contextOfIdentity(identity);
      this.#identity = identity;
      // Streams go on until whoever asks on them has a new one: what they carry cannot wait for a handshake.
      for (const [key, { line }] of this.#channels) this.#retire(key, line);
      this.#options.onRenewed();
    } catch (error) {
      this.#options.log.error({ err: error }, "RPC clients cannot use their new certificate and keep the old one");
    }
  }

  #drop(key: string, line: Line): void {
    for (const stream of line.streams) stream.close();
    this.#retire(key, line);
  }

  #retire(key: string, line: Line): void {
    if (this.#channels.get(key)?.line === line) this.#channels.delete(key);
    line.retired = true;
    this.#retired.add(line);
    this.#endIfOver(line);
  }

  #endIfOver(line: Line): void {
    if (!line.retired || line.callsUnderWay > 0) return;
    this.#retired.delete(line);
    line.end();
  }

  #sweepLater(): () => void {
    const { clock, idleMs } = this.#options;
    return clock.after(idleMs / 2, () => {
      this.#cancelSweep = undefined;
      for (const [key, { line, lastUsed }] of this.#channels) {
        if (line.callsUnderWay === 0 && clock.monotonic() - lastUsed >= idleMs) this.#drop(key, line);
      }
      if (this.#channels.size > 0) this.#cancelSweep = this.#sweepLater();
    });
  }

  #measure(): void {
    const counts = { "2": 0, "1.1": 0 };
    for (const { target } of this.#channels.values()) counts[target.http] += 1;
    for (const http of ["2", "1.1"] as const) this.#options.metrics.targets.set({ http }, counts[http]);
  }
}
