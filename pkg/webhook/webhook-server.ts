/**
 * The HTTPS server of our admission webhooks. Every replica serves it; the API server calls it by HTTP/2 or HTTP/1.1.
 * Certificates come from our own PKI (webhook-certificates.ts) and are exchanged while it runs: connections that exist
 * keep theirs, new ones get the new. It is node:http2 and not node:https, since under Bun only the former can exchange
 * certificates.
 */
import {
  createSecureServer,
  type Http2SecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from "node:http2";
import type { Socket } from "node:net";
import type { Logger } from "../log/log.ts";
import { type AdmissionHandler, type Answer, answerCall, bad, type CallRules, type Outcome } from "./admission-call.ts";
import { BodyMemory } from "./request-body.ts";

/** PEM texts. */
export interface ServedCertificate {
  readonly cert: string;
  readonly key: string;
}

export interface ServedCall {
  /** A registered path, or "unknown". */
  readonly path: string;
  readonly outcome: Outcome;
  readonly ms: number;
}

export interface WebhookServerOptions {
  readonly certificate: ServedCertificate;
  /** By path: `/validate-valkeycluster`. */
  readonly handlers: Readonly<Record<string, AdmissionHandler>>;
  readonly log: Logger;
  /** Defaults to all addresses. */
  readonly host?: string;
  /** Defaults to 0: any free port. */
  readonly port?: number;
  /** Defaults to 8 MiB: an object and its old form, each at most what the API server takes. */
  readonly bodyLimit?: number;
  /** Of all calls under way together. Defaults to 64 MiB. */
  readonly bodiesLimit?: number;
  /** For metrics. */
  readonly onServed?: (call: ServedCall) => void;
  /** For metrics: a handshake that failed, by its code. */
  readonly onTlsError?: (code: string) => void;
}

const HANDSHAKE_MS = 10_000;
const MIB = 1024 * 1024;

export class WebhookServer {
  readonly #server: Http2SecureServer;
  readonly #options: WebhookServerOptions;
  readonly #rules: CallRules;
  readonly #sockets = new Set<Socket>();
  readonly #calls = new Set<Promise<void>>();
  #certificate: ServedCertificate;
  #closing = false;

  private constructor(options: WebhookServerOptions) {
    const { certificate, log, bodyLimit = 8 * MIB, bodiesLimit = 64 * MIB } = options;
    this.#options = options;
    this.#certificate = certificate;
    this.#rules = {
      handlers: new Map(Object.entries(options.handlers)),
      memory: new BodyMemory(bodyLimit, bodiesLimit),
      log,
    };
    this.#server = createSecureServer({
      ...certificate,
      allowHTTP1: true,
      minVersion: "TLSv1.2",
      handshakeTimeout: HANDSHAKE_MS,
    });
    this.#server.on("request", (request, response) => this.#own(this.#serve(request, response)));
    this.#server.on("secureConnection", (socket) => this.#keep(socket));
    this.#server.on("tlsClientError", (error) => this.#refused(error));
    this.#server.on("sessionError", (error: Error) => log.debug({ err: error }, "webhook session failed"));
  }

  static async listen(options: WebhookServerOptions): Promise<WebhookServer> {
    const webhooks = new WebhookServer(options);
    await new Promise<void>((resolve, reject) => {
      webhooks.#server.once("error", reject);
      webhooks.#server.listen(options.port ?? 0, options.host, () => {
        webhooks.#server.off("error", reject);
        webhooks.#server.on("error", (error) => options.log.error({ err: error }, "webhook server failed"));
        resolve();
      });
    });
    return webhooks;
  }

  get port(): number {
    const address = this.#server.address();
    if (typeof address !== "object" || address === null) throw new Error("the webhook server does not listen");
    return address.port;
  }

  /** New connections get it from now on. */
  setCertificate(certificate: ServedCertificate): void {
    if (certificate.cert === this.#certificate.cert && certificate.key === this.#certificate.key) return;
    this.#server.setSecureContext({ ...certificate, minVersion: "TLSv1.2" });
    this.#certificate = certificate;
  }

  /** Takes no new connections, lets running calls end and their answers go out until the signal, then cuts the rest. */
  async close(signal: AbortSignal): Promise<void> {
    this.#closing = true;
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    const cut = new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
    await Promise.race([Promise.all(this.#calls), cut]);
    for (const socket of this.#sockets) socket.end();
    await Promise.race([closed, cut]);
    for (const socket of this.#sockets) socket.destroy();
  }

  async #serve(request: Http2ServerRequest, response: Http2ServerResponse): Promise<void> {
    const began = performance.now();
    const url = URL.parse(request.url, "https://webhook");
    const answer = url === null ? bad(400, "BadRequest", "the path cannot be read") : await this.#call(request, url);
    await send(response, answer);
    const path = url !== null && this.#rules.handlers.has(url.pathname) ? url.pathname : "unknown";
    this.#options.onServed?.({ path, outcome: answer.outcome, ms: performance.now() - began });
  }

  async #call(request: Http2ServerRequest, url: URL): Promise<Answer> {
    const contentType = request.headers["content-type"] ?? "";
    return answerCall({ method: request.method, contentType, url, body: request }, this.#rules);
  }

  #own(call: Promise<void>): void {
    const owned = call
      .catch((error: unknown) => this.#options.log.error({ err: error }, "webhook call failed"))
      .finally(() => this.#calls.delete(owned));
    this.#calls.add(owned);
  }

  #keep(socket: Socket): void {
    // Its handshake was under way when we closed: nobody else would end it.
    if (this.#closing) socket.end();
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
    socket.on("error", (error) => this.#options.log.debug({ err: error }, "webhook connection failed"));
  }

  #refused(error: Error): void {
    const code = "code" in error && typeof error.code === "string" ? error.code : "unknown";
    this.#options.log.debug({ code }, "webhook handshake failed");
    this.#options.onTlsError?.(code);
  }
}

/** Ends when the answer is written or the caller is gone. */
async function send(response: Http2ServerResponse, { code, body }: Answer): Promise<void> {
  if (response.writableEnded) return;
  await new Promise<void>((resolve) => {
    for (const event of ["finish", "close", "error"]) response.once(event, () => resolve());
    response.writeHead(code, { "content-type": "application/json", "content-length": Buffer.byteLength(body) });
    response.end(body);
  });
}
