/**
 * The one way in to our programs: Connect over mutual TLS, HTTP/2 and HTTP/1.1 on one port. Callers are known by their
 * certificates; each method's rule says who may call it. Identity and trust are exchanged while it runs: new connections
 * get the new ones at once, old ones go on for as long as their certificates are good and trusted. Sessions are never
 * resumed: a resumed one would skip the look at the certificate.
 */
import { constants } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import {
  createSecureServer,
  type Http2SecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from "node:http2";
import type { Socket } from "node:net";
import { Code, ConnectError, type ConnectRouter } from "@connectrpc/connect";
import { type Clock, sleep, systemClock } from "../clock/clock.ts";
import type { Logger } from "../log/log.ts";
import { decodeCertificates, reasonOf, type SpiffeId } from "../pki/pki.ts";
import { PROTOCOL } from "../version/version.ts";
import { CallService } from "./call-service.ts";
import type { Trust } from "./connection.ts";
import { Connections } from "./connections.ts";
import { EMPTY_FRAMES } from "./empty-frames.ts";
import type { FencingStore } from "./fencing.ts";
import { Gate } from "./gate.ts";
import { Handshakes } from "./handshakes.ts";
import { type IdentitySource, sameIdentity, type TlsIdentity } from "./identity.ts";
import { type AnswerPeer, PEER_STREAM_PATH, PeerStreams } from "./peer-streams.ts";
import type { ProtocolRange } from "./protocol.ts";
import { Refusals } from "./refusals.ts";
import type { RpcMetrics } from "./rpc-metrics.ts";
import { type Belonging, METHOD_RULES, type MethodRules } from "./rules.ts";

export interface RpcServerOptions {
  /** In logs and metrics. */
  readonly name: string;
  readonly identity: IdentitySource;
  readonly routes: (router: ConnectRouter) => void;
  /** Whom this server belongs to: what the rules are held against. */
  readonly own: Belonging;
  /** Needed when a served method is a command. */
  readonly fencing?: FencingStore;
  readonly metrics: RpcMetrics;
  readonly log: Logger;
  /** Defaults to all addresses. */
  readonly host?: string;
  /** Defaults to 0: any free port. */
  readonly port?: number;
  /** Defaults to the table of all our contracts. */
  readonly rules?: MethodRules;
  /** Defaults to what this release speaks. */
  readonly protocol?: ProtocolRange;
  /** Of one message. Defaults to 4 MiB. */
  readonly messageLimit?: number;
  /** A handler has no longer, whatever the caller says. Defaults to 5 minutes. */
  readonly longestCallMs?: number;
  /** Defaults to 5 s. */
  readonly handshakeMs?: number;
  /** Unfinished handshakes at once; beyond that the oldest is cut off. Defaults to 256. */
  readonly handshakesLimit?: number;
  /** Defaults to 5 minutes. */
  readonly idleMs?: number;
  /** How long calls under way may go on when their caller's certificate is not trusted any more. Defaults to 5 s. */
  readonly graceMs?: number;
  readonly clock?: Clock;
  /** Answers what nodes of the same deployment ask on streams that they keep open. */
  readonly answerPeer?: AnswerPeer;
  /** The last connection of a caller was closed by its end: its process has ended, or has no use for it any more. */
  readonly onCallerGone?: (caller: SpiffeId) => void;
}

/** For answers that are written to reach their callers. */
const FAREWELL_MS = 200;
const MINUTE_MS = 60_000;
const MIB = 1024 * 1024;
const DEFAULTS = {
  rules: METHOD_RULES,
  protocol: PROTOCOL,
  messageLimit: 4 * MIB,
  longestCallMs: 5 * MINUTE_MS,
  handshakeMs: 5000,
  handshakesLimit: 256,
  idleMs: 5 * MINUTE_MS,
  graceMs: 5000,
  clock: systemClock,
} as const;
/** Together with the full handshake of TLS 1.3 this leaves no session to resume. */
const TLS = { minVersion: "TLSv1.3", secureOptions: constants.SSL_OP_NO_TICKET } as const;

export class RpcServer {
  readonly #options: RpcServerOptions;
  readonly #server: Http2SecureServer;
  readonly #connections: Connections;
  readonly #handshakes: Handshakes;
  readonly #calls: CallService;
  readonly #peers: PeerStreams | undefined;
  readonly #clock: Clock;
  readonly #shutdown = new AbortController();
  readonly #peersOver = new AbortController();
  #trust: Trust;
  #served: TlsIdentity;
  #unsubscribe = () => {};

  private constructor(given: RpcServerOptions) {
    const options = { ...DEFAULTS, fencing: undefined, ...given };
    const { name: server, metrics, log, clock, rules, own, fencing } = options;
    const served = options.identity.current();
    this.#options = given;
    this.#clock = clock;
    this.#served = served;
    this.#trust = trustOf(served, Number.NEGATIVE_INFINITY);
    const trust = () => this.#trust;
    const refusals = new Refusals({ server, metrics, log, clock });
    this.#handshakes = new Handshakes(options.handshakesLimit, refusals);
    const gate = new Gate({ rules, own, fencing, protocol: options.protocol, refusals, clock, trust });
    const { answerPeer: answer } = given;
    const { messageLimit } = options;
    if (answer !== undefined) {
      this.#peers = new PeerStreams({ gate, answer, log, messageLimit, shutdown: this.#peersOver.signal });
    }
    this.#calls = new CallService({
      server,
      routes: options.routes,
      gate,
      rules,
      own,
      hasFencing: fencing !== undefined,
      metrics,
      refusals,
      log,
      clock,
      messageLimit: options.messageLimit,
      longestCallMs: options.longestCallMs,
      shutdown: this.#shutdown.signal,
    });
    this.#server = createSecureServer({
      ...tlsOf(served),
      requestCert: true,
      rejectUnauthorized: true,
      allowHTTP1: true,
      handshakeTimeout: options.handshakeMs,
      maxSessionInvalidFrames: EMPTY_FRAMES,
    });
    const { idleMs, graceMs } = options;
    // Last, when nothing can throw any more: it holds a timer.
    const onGone = (caller: SpiffeId) => given.onCallerGone?.(caller);
    this.#connections = new Connections({ server, metrics, refusals, clock, trust, idleMs, graceMs, onGone });
    this.#listenForCallers();
  }

  /** Refuses to start when a method has no rule. */
  static async listen(options: RpcServerOptions): Promise<RpcServer> {
    const rpc = new RpcServer(options);
    await new Promise<void>((resolve, reject) => {
      rpc.#server.once("error", reject);
      rpc.#server.listen(options.port ?? 0, options.host, () => {
        rpc.#server.off("error", reject);
        rpc.#server.on("error", (error) =>
          options.log.error({ err: error, server: options.name }, "RPC server failed"),
        );
        resolve();
      });
    }).catch((error: unknown) => {
      rpc.#connections.closeAll();
      throw new Error(`the RPC server ${options.name} cannot listen: ${reasonOf(error)}`, { cause: error });
    });
    rpc.#unsubscribe = options.identity.subscribe(() => rpc.#adopt(options.identity.current()));
    // It may have been replaced since it was read.
    rpc.#adopt(options.identity.current());
    return rpc;
  }

  get port(): number {
    const address = this.#server.address();
    if (typeof address !== "object" || address === null) throw new Error("the RPC server does not listen");
    return address.port;
  }

  get handshakesUnderWay(): number {
    return this.#handshakes.size;
  }

  /**
   * Takes no new connections and no new calls; calls under way have until the signal to end, then their handlers are
   * aborted and the rest is cut.
   */
  async stop(signal: AbortSignal): Promise<void> {
    this.#unsubscribe();
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    const late = new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
    this.#connections.closeAll();
    this.#peersOver.abort(new Error("the server stops"));
    await Promise.race([this.#calls.ended(), late]);
    this.#shutdown.abort(new ConnectError("the server stops", Code.Unavailable));
    // The last answers go out, and callers that do not hang up are not waited for.
    await Promise.race([closed, sleep(this.#clock, FAREWELL_MS)]);
    this.#handshakes.destroyAll();
    this.#connections.destroyAll();
  }

  #listenForCallers(): void {
    const { log, name: server } = this.#options;
    this.#server.on("connection", (socket: Socket) => this.#handshakes.begun(socket));
    this.#server.on("tlsClientError", (error, socket) => this.#handshakes.failed(error, socket));
    this.#server.on("secureConnection", (socket) => {
      this.#handshakes.done(socket);
      socket.on("error", (error) => log.debug({ err: error, server }, "RPC connection failed"));
      if (socket.alpnProtocol !== "h2") this.#connections.addSocket(socket);
    });
    this.#server.on("session", (session) => {
      session.on("error", (error) => log.debug({ err: error, server }, "RPC session failed"));
      this.#connections.addSession(session);
    });
    this.#server.on("sessionError", (error: Error) => log.debug({ err: error, server }, "RPC session failed"));
    this.#server.on("request", (request: Request, response: Response) => {
      const connection = this.#connections.ofRequest(request);
      const peers = this.#peers;
      if (peers !== undefined && connection !== undefined && isPeerStream(request) && "stream" in response) {
        void peers.serve(request, response, connection);
      } else this.#calls.serve(request, response, connection);
    });
  }

  /** An identity that cannot be used is told and the old one stays: better a late rotation than no server. */
  #adopt(identity: TlsIdentity): void {
    if (sameIdentity(identity, this.#served)) return;
    const { log, name: server } = this.#options;
    try {
      const trust = identity.authorities === this.#served.authorities ? this.#trust : this.#trustFromNow(identity);
      this.#server.setSecureContext(tlsOf(identity));
      const changed = trust !== this.#trust;
      this.#trust = trust;
      this.#served = identity;
      if (changed) void this.#connections.review();
    } catch (error) {
      log.error({ err: error, server }, "RPC server cannot use its new certificate and keeps the old one");
    }
  }

  /** A handshake that is under way has begun under the old one. */
  #trustFromNow(identity: TlsIdentity): Trust {
    const { handshakeMs = DEFAULTS.handshakeMs } = this.#options;
    return trustOf(identity, this.#clock.monotonic() + handshakeMs);
  }
}

type Request = Http2ServerRequest | IncomingMessage;
type Response = Http2ServerResponse | ServerResponse;

function isPeerStream(request: Request): request is Http2ServerRequest {
  return "stream" in request && request.url === PEER_STREAM_PATH;
}

function tlsOf({ certificate, key, authorities }: TlsIdentity) {
  return { cert: certificate, key, ca: authorities, ...TLS };
}

function trustOf({ authorities }: TlsIdentity, since: number): Trust {
  return { authorities: decodeCertificates(authorities, "the trusted authorities"), since };
}
