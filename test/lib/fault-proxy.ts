/**
 * A TLS-terminating proxy between a client of ours and the real API server that does what networks and servers do on
 * bad days: cut connections, hang, refuse, crawl, repeat, swap and lose.
 *
 * Faults are set and cleared while requests are in flight; what is running changes at once.
 */
import "reflect-metadata";
import type { IncomingMessage, ServerResponse } from "node:http";
import * as https from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { setTimeout as after } from "node:timers";
import type { KubeConnection } from "../../pkg/kube/kube-config.ts";
import { SourcedCredentials } from "../../pkg/kube/transport-credentials.ts";
import { type FrameFault, FrameStream } from "./fault-proxy-frames.ts";
import { selfSigned } from "./self-signed.ts";

export type Fault =
  | FrameFault
  /** Connections are accepted, requests read, and nothing is ever answered; running watches fall silent. */
  | { readonly kind: "half-open" }
  /** The next requests are answered with this status. */
  | { readonly kind: "refuse"; readonly status: 410 | 429 | 500; readonly times: number; readonly retryAfter?: number };

export interface FaultProxyOptions {
  readonly upstream: KubeConnection;
  /** Defaults to Math.random. */
  readonly random?: () => number;
  /** Told when the server has answered a request and before the client hears of it. */
  readonly onAnswer?: (answered: Answered) => void;
}

export interface Answered {
  readonly method: string;
  readonly path: string;
  readonly status: number;
}

export class FaultProxy {
  /** Why requests could not be passed on: the API server is away, or the client left. */
  readonly broken: string[] = [];
  readonly #options: FaultProxyOptions;
  readonly #server: https.Server;
  readonly #agent: https.Agent;
  readonly #sockets = new Set<Socket>();
  readonly #watches = new Set<ServerResponse>();
  readonly #ca: string;
  #fault: Fault | undefined;
  #refusals = 0;
  #requests = 0;

  static async start(options: FaultProxyOptions): Promise<FaultProxy> {
    const { cert, key } = await selfSigned("127.0.0.1");
    const credential = await options.upstream.credentials.current();
    const agent = new https.Agent({
      keepAlive: true,
      ...options.upstream.tls(),
      cert: credential.cert,
      key: credential.key,
    });
    const proxy = new FaultProxy(options, { cert, key, agent });
    await proxy.#listen();
    return proxy;
  }

  private constructor(options: FaultProxyOptions, tls: { cert: string; key: string; agent: https.Agent }) {
    this.#options = options;
    this.#agent = tls.agent;
    this.#ca = tls.cert;
    this.#server = https.createServer({ cert: tls.cert, key: tls.key }, (request, response) => {
      // The client sees what it would see of a server that died: a broken connection.
      this.#serve(request, response).catch((error: unknown) => {
        this.broken.push(String(error));
        // Destroying the response alone would end it in good order, as an empty answer.
        request.socket.destroy();
      });
    });
    this.#server.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket));
    });
  }

  /** For a client that is to go through this proxy. */
  get connection(): KubeConnection {
    return {
      ...this.#options.upstream,
      server: `https://127.0.0.1:${this.port}`,
      tls: () => ({ ca: this.#ca }),
      credentials: new SourcedCredentials({}),
    };
  }

  /** The same for another process, as a kubeconfig. */
  get kubeconfig(): object {
    const cluster = {
      server: `https://127.0.0.1:${this.port}`,
      "certificate-authority-data": Buffer.from(this.#ca).toString("base64"),
    };
    return {
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "proxy", cluster }],
      users: [{ name: "proxy", user: {} }],
      contexts: [{ name: "proxy", context: { cluster: "proxy", user: "proxy" } }],
      "current-context": "proxy",
    };
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Requests seen so far. */
  get requests(): number {
    return this.#requests;
  }

  /** Requests that were refused since the last `set`. */
  get refusals(): number {
    return this.#refusals;
  }

  set(fault: Fault): void {
    this.#fault = fault;
    this.#refusals = 0;
  }

  clear(): void {
    this.#fault = undefined;
  }

  /** Ends every connection of the client without a word. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Tells every running watch that its version is too old, in a frame. */
  expireWatches(): void {
    const object = status(410, "Expired", "too old resource version");
    for (const response of this.#watches) response.end(`${JSON.stringify({ type: "ERROR", object })}\n`);
  }

  async close(): Promise<void> {
    this.cut();
    this.#agent.destroy();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#server.close(() => resolve());
    await Promise.race([promise, new Promise((done) => after(done, 1000))]);
  }

  async #listen(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#server.once("error", reject);
    this.#server.listen(0, "127.0.0.1", resolve);
    await promise;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.#requests += 1;
    const body = await read(request);
    const fault = this.#fault;
    if (fault?.kind === "half-open") return;
    if (fault?.kind === "refuse" && this.#refusals < fault.times) return this.#refuse(fault, response);
    await this.#forward(request, body, response);
  }

  #refuse(fault: Fault & { kind: "refuse" }, response: ServerResponse): void {
    this.#refusals += 1;
    const retryAfter = fault.retryAfter === undefined ? {} : { "retry-after": String(fault.retryAfter) };
    response.writeHead(fault.status, { "content-type": "application/json", ...retryAfter });
    const reason = { 410: "Expired", 429: "TooManyRequests", 500: "InternalError" }[fault.status];
    response.end(JSON.stringify(status(fault.status, reason, "injected by the fault proxy")));
  }

  async #forward(request: IncomingMessage, body: Buffer, response: ServerResponse): Promise<void> {
    const { server, credentials } = this.#options.upstream;
    const { headers: own } = await credentials.current();
    const { host: _, connection: __, ...headers } = request.headers;
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const onward = https.request(
      `${server}${request.url ?? ""}`,
      { method: request.method, headers: { ...headers, ...own }, agent: this.#agent },
      resolve,
    );
    onward.on("error", reject);
    response.on("close", () => onward.destroy());
    onward.end(body);
    const answer = await promise;
    const { method = "", url = "" } = request;
    this.#options.onAnswer?.({ method, path: url, status: answer.statusCode ?? 502 });
    const { "transfer-encoding": ___, connection: ____, ...passed } = answer.headers;
    response.writeHead(answer.statusCode ?? 502, passed);
    if (isWatch(request) && answer.statusCode === 200) await this.#stream(answer, response);
    else await this.#pass(answer, response);
  }

  async #pass(answer: IncomingMessage, response: ServerResponse): Promise<void> {
    const content = await read(answer);
    if (this.#fault?.kind === "slow") await Bun.sleep(this.#fault.delayMs);
    if (this.#fault?.kind === "half-open") return;
    response.end(content);
  }

  async #stream(answer: IncomingMessage, response: ServerResponse): Promise<void> {
    const write = (text: string) => {
      if (!response.writableEnded && !response.destroyed) response.write(text);
    };
    const frames = new FrameStream(write, () => this.#frameFault(), this.#options.random ?? Math.random);
    const { promise, resolve } = Promise.withResolvers<boolean>();
    response.flushHeaders();
    this.#watches.add(response);
    answer.on("data", (chunk: Buffer) => {
      if (this.#fault?.kind !== "half-open") frames.push(chunk);
      // What a hung connection swallowed must not come later over the same one, as if nothing had happened.
      else answer.removeAllListeners("data");
    });
    answer.on("end", () => resolve(true));
    answer.on("error", () => resolve(false));
    answer.on("close", () => resolve(false));
    response.on("close", () => resolve(false));
    const whole = await promise;
    this.#watches.delete(response);
    if (this.#fault?.kind === "half-open") return;
    await frames.drained();
    if (whole) response.end();
    else response.socket?.destroy();
  }

  #frameFault(): FrameFault | undefined {
    const fault = this.#fault;
    return fault === undefined || fault.kind === "half-open" || fault.kind === "refuse" ? undefined : fault;
  }
}

function isWatch(request: IncomingMessage): boolean {
  return new URL(request.url ?? "/", "https://proxy").searchParams.get("watch") === "true";
}

async function read(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

function status(code: number, reason: string, message: string): object {
  return { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", reason, message, code };
}
