/**
 * The HTTPS connection to the API server: kept-alive sockets, credentials that renew themselves, deadlines, waiting on
 * 429, and a second try where a broken connection lost nothing.
 *
 * node:https is used because Bun's fetch ends silent streams after six minutes and @kubernetes/client-node's transport
 * does not work under Bun.
 */
import * as http from "node:http";
import * as https from "node:https";
import { sleep, systemClock } from "../clock/clock.ts";
import type { KubeConnection } from "./kube-config.ts";
import { errorOfReply, isKubeError, KubeError } from "./kube-error.ts";
import type { Credential } from "./transport-credentials.ts";
import { within } from "./transport-deadline.ts";

export interface KubeRequest {
  /** `apply StatefulSet default/cache`: for errors. */
  readonly action: string;
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "HEAD" | "OPTIONS";
  /** With the query. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: string | undefined;
  /** Sent again when the connection broke before an answer. */
  readonly idempotent: boolean;
  readonly signal?: AbortSignal | undefined;
  /** Defaults to 30 s. */
  readonly deadlineMs?: number | undefined;
  /** Waits and sends again on 429. Defaults to true. */
  readonly retryTooMany?: boolean | undefined;
}

export interface KubeReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly retryAfterMs?: number | undefined;
}

const DEADLINE_MS = 30_000;
/** A server that asks for more gets asked again sooner: its view of the load is only a guess. */
const LONGEST_RETRY_AFTER_MS = 10_000;
/** A server that asks for no wait at all must not be asked in a tight circle. */
const SHORTEST_RETRY_AFTER_MS = 50;
const CONNECTION_TRIES = 3;

export class KubeTransport {
  /** Without a slash at its end. */
  readonly server: string;
  readonly connection: KubeConnection;
  #agent: http.Agent | undefined;
  #fingerprint = "";

  constructor(connection: KubeConnection) {
    this.connection = connection;
    this.server = connection.server;
  }

  /** The answer, whatever its status; throws only when there is none. */
  async send(request: KubeRequest): Promise<KubeReply> {
    const { action, signal, deadlineMs = DEADLINE_MS } = request;
    return within({ action, signal, deadlineMs }, async (bound) => {
      const retry = new Retry(request);
      for (;;) {
        try {
          const credential = await this.#credential(action);
          const reply = await readReply(await this.#request(request, credential, [bound]));
          if (reply.status === 401) this.connection.credentials.refused(credential);
          if (!(await this.#again(retry, reply, bound))) return reply;
        } catch (error) {
          bound.throwIfAborted();
          if (!retry.mayReconnect(error)) throw unreachable(action, this.server, error);
        }
      }
    });
  }

  /** An answer to be read as it comes. The deadline is for its header; the signal ends it at any time. */
  async open(request: KubeRequest & { readonly signal: AbortSignal }): Promise<http.IncomingMessage> {
    const { action, signal, deadlineMs = DEADLINE_MS } = request;
    return within({ action, signal, deadlineMs }, async (bound) => {
      // The caller's signal stays tied to the request after the header is here; the deadline's does not.
      const tied = new AbortController();
      const untie = relay(bound, tied);
      const credential = await this.#credential(action);
      try {
        const message = await this.#request(request, credential, [signal, tied.signal]);
        if (message.statusCode === 200) return message;
        throw errorOfReply({ action, ...(await readReply(message)) });
      } catch (error) {
        if (isKubeError(error, "unauthorized")) this.connection.credentials.refused(credential);
        bound.throwIfAborted();
        throw unreachable(action, this.server, error);
      } finally {
        untie();
      }
    });
  }

  close(): void {
    this.#agent?.destroy();
    this.#agent = undefined;
    this.#fingerprint = "";
  }

  /** True when the reply asks for another try and one is left. */
  async #again(retry: Retry, reply: KubeReply, signal: AbortSignal): Promise<boolean> {
    if (reply.status === 401) return retry.mayRenew();
    if (reply.status !== 429 || reply.retryAfterMs === undefined) return false;
    const wait = Math.max(SHORTEST_RETRY_AFTER_MS, Math.min(reply.retryAfterMs, LONGEST_RETRY_AFTER_MS));
    if (!retry.mayWait(wait)) return false;
    await sleep(systemClock, wait, signal);
    return true;
  }

  /** Trouble with the credentials names what they were needed for. */
  async #credential(action: string): Promise<Credential> {
    try {
      return await this.connection.credentials.current();
    } catch (cause) {
      const message = cause instanceof Error ? cause.message : String(cause);
      throw new KubeError({ code: "config", action, message, cause });
    }
  }

  async #request(
    request: KubeRequest,
    credential: Credential,
    signals: readonly AbortSignal[],
  ): Promise<http.IncomingMessage> {
    const url = `${this.server}${request.path}`;
    const secure = url.startsWith("https:");
    const agent = this.#agentFor(credential, secure);
    const headers: Record<string, string | number | string[]> = {
      accept: "application/json",
      "user-agent": this.connection.userAgent,
      ...request.headers,
      ...credential.headers,
    };
    if (request.body !== undefined) headers["content-length"] = Buffer.byteLength(request.body);
    const { promise, resolve, reject } = Promise.withResolvers<http.IncomingMessage>();
    const outgoing = (secure ? https : http).request(url, { method: request.method, headers, agent }, resolve);
    outgoing.on("error", reject);
    const release = destroyOn(signals, outgoing);
    outgoing.on("close", release);
    outgoing.end(request.body);
    return promise;
  }

  /** A new agent only when the TLS material changed: certificates rotate, connections are kept otherwise. */
  #agentFor(credential: Credential, secure: boolean): http.Agent {
    const { ca, servername, rejectUnauthorized = true } = this.connection.tls();
    const tls = { ca, servername, rejectUnauthorized, cert: credential.cert, key: credential.key };
    const fingerprint = JSON.stringify(tls);
    if (this.#agent !== undefined && fingerprint === this.#fingerprint) return this.#agent;
    const options = { keepAlive: true, keepAliveMsecs: 15_000, maxSockets: 256 };
    // The old agent's sockets end by themselves when their requests do: watches in flight are not cut.
    this.#agent = secure ? new https.Agent({ ...options, ...tls }) : new http.Agent(options);
    this.#fingerprint = fingerprint;
    return this.#agent;
  }
}

/** What has been tried already for one request. */
class Retry {
  readonly #request: KubeRequest;
  readonly #giveUpAt: number;
  #connections = 1;
  #renewed = false;

  constructor(request: KubeRequest) {
    this.#request = request;
    this.#giveUpAt = performance.now() + (request.deadlineMs ?? DEADLINE_MS);
  }

  /** A kept-alive socket may die just as it is used; what did not reach the server may be sent again. */
  mayReconnect(error: unknown): boolean {
    if (isKubeError(error)) return false;
    if (!this.#request.idempotent || this.#connections >= CONNECTION_TRIES) return false;
    this.#connections += 1;
    return isReset(error);
  }

  mayRenew(): boolean {
    if (this.#renewed) return false;
    this.#renewed = true;
    return true;
  }

  /** Waiting past the deadline would turn the server's answer into a worse one. */
  mayWait(ms: number): boolean {
    if (this.#request.retryTooMany === false) return false;
    return performance.now() + ms < this.#giveUpAt;
  }
}

function isReset(error: unknown): boolean {
  const code = errorCode(error);
  if (code !== undefined)
    return ["ECONNRESET", "EPIPE", "ConnectionClosed", "ERR_STREAM_PREMATURE_CLOSE"].includes(code);
  return error instanceof Error && /socket hang up|closed unexpectedly|aborted/iu.test(error.message);
}

function errorCode(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

function unreachable(action: string, server: string, cause: unknown): KubeError {
  if (cause instanceof KubeError) return cause;
  const code = errorCode(cause) ?? "";
  const why = cause instanceof Error ? cause.message : String(cause);
  const message = `${server} ${isReset(cause) ? "broke the connection" : "cannot be reached"}: ${why || code}`;
  return new KubeError({ code: "unreachable", action, message, hint: hintOf(code), cause });
}

function hintOf(code: string): string | undefined {
  if (/CERT|SELF_SIGNED|ISSUER|VERIFY/u.test(code))
    return "the server's certificate does not fit the CA in the kubeconfig";
  if (code === "ECONNREFUSED") return "is the API server running?";
  return undefined;
}

/** Ties a request's life to the signals; gives the way to untie it, so that long-lived signals gather no listeners. */
function destroyOn(signals: readonly AbortSignal[], outgoing: http.ClientRequest): () => void {
  const destroy = () => void outgoing.destroy(new Error("aborted"));
  for (const signal of signals) {
    if (signal.aborted) destroy();
    else signal.addEventListener("abort", destroy, { once: true });
  }
  return () => {
    for (const signal of signals) signal.removeEventListener("abort", destroy);
  };
}

function relay(from: AbortSignal, to: AbortController): () => void {
  const abort = () => to.abort(from.reason);
  from.addEventListener("abort", abort, { once: true });
  return () => from.removeEventListener("abort", abort);
}

async function readReply(message: http.IncomingMessage): Promise<KubeReply> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const chunks: Buffer[] = [];
  message.on("data", (chunk: Buffer) => chunks.push(chunk));
  message.on("end", () => resolve(Buffer.concat(chunks).toString("utf8")));
  message.on("error", reject);
  message.on("close", () => reject(Object.assign(new Error("the answer was cut short"), { code: "ECONNRESET" })));
  const body = await promise;
  if (!message.complete) throw Object.assign(new Error("the answer was cut short"), { code: "ECONNRESET" });
  const headers = Object.entries(message.headers).map(([name, value]) => [name, String(value)] as const);
  const retryAfterMs = retryAfter(message.headers["retry-after"]);
  return { status: message.statusCode ?? 0, headers: Object.fromEntries(headers), body, retryAfterMs };
}

/** The API server sends whole seconds; a date, which a proxy may send, is not worth trusting two clocks for. */
function retryAfter(value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const seconds = Number(value);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : 1000;
}
