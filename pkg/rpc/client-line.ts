/** One way to one other program under one identity of ours: an HTTP/2 session, or kept-alive HTTP/1.1 connections. */
import type { ClientHttp2Stream, OutgoingHttpHeaders } from "node:http2";
import { Agent } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import type { Duplex } from "node:stream";
import { connect, createSecureContext, type SecureContext, type TLSSocket } from "node:tls";
import type { Transport } from "@connectrpc/connect";
import { type ConnectTransportOptions, createConnectTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { formatSpiffeId, peerIdentity, type SpiffeId } from "../pki/pki.ts";
import { EMPTY_FRAMES } from "./empty-frames.ts";
import type { TlsIdentity } from "./identity.ts";

/** What all calls have in common. */
export type CallOptions = Pick<
  ConnectTransportOptions,
  "interceptors" | "defaultTimeoutMs" | "readMaxBytes" | "writeMaxBytes" | "acceptCompression"
>;

export interface LineOptions {
  readonly http: "2" | "1.1";
  readonly url: string;
  readonly expected: SpiffeId;
  readonly context: SecureContext;
  readonly lookup: LookupFunction;
  readonly calls: CallOptions;
}

/** A session that was silent for so long is asked for a sign of life before the next call … */
const SILENT_MS = 10_000;
/** … which it has so long to give. */
const SIGN_MS = 2000;
/** More calls than this at once to one operator wait for each other. */
const MOST_SOCKETS = 4;

export class Line {
  readonly transport: Transport;
  readonly end: () => void;
  /** Opens a stream that stays open; HTTP/2 only. */
  readonly stream: ((path: string, headers: OutgoingHttpHeaders) => Promise<ClientHttp2Stream>) | undefined;
  readonly streams = new Set<ClientHttp2Stream>();
  callsUnderWay = 0;
  /** No new calls: ended with the last one. */
  retired = false;
  /** Who answered in place of whom we meant. */
  stranger: string | undefined;
  readonly #options: LineOptions;

  constructor(options: LineOptions) {
    this.#options = options;
    const { url: baseUrl, calls } = options;
    if (options.http === "2") {
      // Pings of idle sessions stay off: they would ping destroyed ones too, and throw where nobody catches.
      const pings = { pingIntervalMs: SILENT_MS, pingTimeoutMs: SIGN_MS };
      const session = { createConnection: () => this.#open(["h2"]), maxSessionInvalidFrames: EMPTY_FRAMES };
      const sessionManager = new Http2SessionManager(baseUrl, pings, session);
      this.transport = createConnectTransport({ baseUrl, httpVersion: "2", sessionManager, ...calls });
      this.stream = (path, headers) => sessionManager.request("POST", path, headers, {});
      this.end = () => sessionManager.abort();
    } else {
      const agent = new LineAgent(() => this.#open(["http/1.1"]));
      this.transport = createConnectTransport({ baseUrl, httpVersion: "1.1", nodeOptions: { agent }, ...calls });
      this.stream = undefined;
      this.end = () => agent.destroy();
    }
  }

  /** The name is looked up for every connection: an address that a pod had yesterday is another's today. */
  #open(protocols: string[]): TLSSocket {
    const { hostname, port } = new URL(this.#options.url);
    const host = hostname.replace(/^\[(.*)\]$/, "$1");
    const { lookup, context } = this.#options;
    const socket: TLSSocket = connect({
      host,
      port: Number(port === "" ? "443" : port),
      ALPNProtocols: protocols,
      secureContext: context,
      ...(isIP(host) === 0 ? { lookup, servername: host } : {}),
      checkServerIdentity: (_, { raw }) => this.#judge(raw, socket.getPeerCertificate(true).issuerCertificate?.raw),
    });
    socket.setKeepAlive(true, SILENT_MS);
    // The call on it is told of an error by its own way; when there is none any more, nobody else would listen.
    socket.on("error", () => {});
    return socket;
  }

  /** The server is whom its certificate's URI names; host names and addresses say nothing about who is there. */
  #judge(raw: Buffer, issuer: Buffer | undefined): Error | undefined {
    const peer = peerIdentity(raw, issuer);
    const expected = formatSpiffeId(this.#options.expected);
    const seen = peer.ok ? formatSpiffeId(peer.id) : `a certificate without identity (${peer.reason})`;
    if (seen === expected) return undefined;
    this.stranger = seen;
    return new Error(`${seen} answers in place of ${expected}`);
  }
}

/** Opens connections in our way and keeps them for the next call. */
class LineAgent extends Agent {
  readonly #open: () => TLSSocket;

  constructor(open: () => TLSSocket) {
    super({ keepAlive: true, maxSockets: MOST_SOCKETS, maxFreeSockets: 1 });
    this.#open = open;
  }

  override createConnection(): Duplex {
    return this.#open();
  }
}

/** Shared by all lines of an identity. */
export function contextOfIdentity({ certificate, key, authorities }: TlsIdentity): SecureContext {
  return createSecureContext({ cert: certificate, key, ca: authorities, minVersion: "TLSv1.3" });
}
