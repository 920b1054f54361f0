/** Serves calls: from an HTTP request to the handler and back, each within its time. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { constants, type Http2ServerRequest, type Http2ServerResponse } from "node:http2";
import { Code, ConnectError, type ConnectRouter, createConnectRouter, type Interceptor } from "@connectrpc/connect";
import { universalRequestFromNodeRequest } from "@connectrpc/connect-node";
import type { Clock } from "../clock/clock.ts";
import type { Logger } from "../log/log.ts";
import { formatSpiffeId } from "../pki/pki.ts";
import type { Connection } from "./connection.ts";
import { deadlineWithin, untilAborted } from "./deadline.ts";
import { type Call, callIn, contextOf, type Gate, REFUSAL_HEADER } from "./gate.ts";
import type { RefusalReason, Refusals } from "./refusals.ts";
import type { RpcMetrics } from "./rpc-metrics.ts";
import { type Belonging, type MethodRules, methodName } from "./rules.ts";

export interface CallServiceOptions {
  readonly server: string;
  readonly routes: (router: ConnectRouter) => void;
  readonly gate: Gate;
  readonly rules: MethodRules;
  readonly own: Belonging;
  readonly hasFencing: boolean;
  readonly metrics: RpcMetrics;
  readonly refusals: Refusals;
  readonly log: Logger;
  readonly clock: Clock;
  readonly messageLimit: number;
  readonly longestCallMs: number;
  /** Aborts handlers that still run. */
  readonly shutdown: AbortSignal;
}

type Request = Http2ServerRequest | IncomingMessage;
type Response = Http2ServerResponse | ServerResponse;
type Handler = ConnectRouter["handlers"][number];
type Answer = Awaited<ReturnType<Handler>>;

/** Whichever comes first. */
const ENDS = ["finish", "close", "error"];
/** After the handler's own deadline, for the answer to go out. */
const ANSWER_MS = 1000;
/** The part of its patience after which a caller that hangs up is taken to have run out of it. */
const HUNG_UP_IN_TIME = 0.8;
/** As an HTTP status, in the Connect protocol. */
const RESOURCE_EXHAUSTED = 429;

export class CallService {
  readonly #options: CallServiceOptions;
  readonly #handlers: ReadonlyMap<string, Handler>;
  readonly #calls = new Set<Promise<void>>();

  constructor(options: CallServiceOptions) {
    this.#options = options;
    const router = createConnectRouter({
      // One wire, uncompressed: nobody of ours speaks another, and what is not there cannot be attacked.
      grpc: false,
      grpcWeb: false,
      acceptCompression: [],
      readMaxBytes: options.messageLimit,
      writeMaxBytes: options.messageLimit,
      shutdownSignal: options.shutdown,
      requestGate: (context) => options.gate.admit(context),
      interceptors: [this.#bounded()],
    });
    options.routes(router);
    this.#handlers = new Map(router.handlers.map((handler) => [handler.requestPath, handler]));
    for (const handler of router.handlers) checkServable(handler, options);
  }

  serve(request: Request, response: Response, connection: Connection | undefined): void {
    const { clock } = this.#options;
    const done = Promise.withResolvers<void>();
    const over = () => done.resolve();
    for (const event of ENDS) response.on(event, over);
    // One that comes late must still find a listener: without any it would end the process.
    response.on("error", ignore);
    const cancel = clock.after(this.#options.longestCallMs + ANSWER_MS, () => cut(request));
    connection?.callBegan();
    const ended = done.promise.then(() => {
      cancel();
      // HTTP/1.1 keeps a connection's last answer until the next one: it should not keep all this with it.
      for (const event of ENDS) response.off(event, over);
      this.#calls.delete(ended);
      connection?.callEnded(clock.monotonic());
    });
    this.#calls.add(ended);
    void this.#answer(request, response, { connection, refused: false, handled: false });
  }

  /** When no call is under way. */
  async ended(): Promise<void> {
    while (this.#calls.size > 0) await Promise.all(this.#calls);
  }

  /** Never rejects. */
  async #answer(request: Request, response: Response, call: Call): Promise<void> {
    const [path = ""] = (request.url ?? "").split("?", 1);
    const about = { caller: callerName(call), remote: call.connection?.remote, method: path.slice(0, 200) };
    try {
      const handler = this.#handlers.get(path);
      if (handler === undefined) {
        this.#options.refusals.add("unknown-method", about);
        sendUnknown(response);
        return;
      }
      const answer = await handler(universalRequestFromNodeRequest(request, response, undefined, contextOf(call)));
      this.#countUnread(answer.status, call, about);
      // HTTP/2 says it by itself, before the connection ends.
      if (call.connection?.closing === true && !("stream" in request)) response.setHeader("connection", "close");
      await send(answer, response);
    } catch (error) {
      // The caller is gone, or sent what is no request.
      this.#options.log.debug({ err: error, server: this.#options.server, ...about }, "RPC call broke off");
      if (!response.headersSent) response.statusCode = 400;
      response.end();
    }
  }

  /** A message that is too large is refused below the handler and above the gate. */
  #countUnread(status: number, { handled, refused }: Call, about: Readonly<Record<string, string | undefined>>): void {
    if (status !== RESOURCE_EXHAUSTED || handled || refused) return;
    const why = `the message has more than ${this.#options.messageLimit} bytes`;
    this.#options.refusals.add("too-large", { ...about, why });
  }

  /** Each handler ends with its deadline, also one that ignores its signal. */
  #bounded(): Interceptor {
    const { server, metrics, refusals, log, longestCallMs, clock } = this.#options;
    return (next) => async (request) => {
      const method = methodName(request.method);
      const call = callIn(request.contextValues);
      call.handled = true;
      const began = clock.monotonic();
      using deadline = deadlineWithin(request.signal, longestCallMs, `no answer within ${longestCallMs} ms`);
      const { signal } = deadline;
      const ended = (code: string) => {
        metrics.served.inc({ server, method, code });
        metrics.duration.observe({ server, method }, (clock.monotonic() - began) / 1000);
      };
      try {
        const answer = await untilAborted(signal, () => next({ ...request, signal }));
        ended("ok");
        return answer;
      } catch (error) {
        const told = ConnectError.from(error, Code.Internal);
        ended(Code[told.code]);
        const about = { method, caller: callerName(call), remote: call.connection?.remote };
        if (outOfTime(told, request.header, clock.monotonic() - began)) {
          refusals.add("deadline", { ...about, why: told.rawMessage });
        }
        // What a handler did not foresee is for the log; the caller is told that it was internal, and no more.
        if (!(error instanceof ConnectError)) log.error({ err: error, server, ...about }, "RPC handler failed");
        throw error;
      }
    };
  }
}

function checkServable({ method }: Handler, { server, rules, own, hasFencing }: CallServiceOptions): void {
  const name = methodName(method);
  const refuse = (why: string) => new TypeError(`the RPC server ${server} does not start: ${name} ${why}`);
  const rule = rules.get(name);
  if (rule === undefined) throw refuse("has no rule that says who may call it");
  if (method.methodKind !== "unary") throw refuse("is a stream, which has no deadline");
  if (rule.command && !hasFencing) throw refuse("is a command, and there is no store for the fencing token");
  if (rule.callers === "same-deployment" && own.node === undefined) {
    throw refuse("is for nodes of the same deployment, and the server is of none");
  }
}

/** A caller whose own deadline is over hangs up, often before ours is. */
function outOfTime({ code }: ConnectError, header: Headers, elapsedMs: number): boolean {
  if (code !== Code.Canceled) return code === Code.DeadlineExceeded;
  const patience = Number(header.get("connect-timeout-ms") ?? Number.NaN);
  return elapsedMs >= patience * HUNG_UP_IN_TIME;
}

function ignore(): void {}

function callerName({ connection }: Call): string {
  return connection?.peer.ok === true ? formatSpiffeId(connection.peer.id) : "unknown";
}

/**
 * In one piece: our methods do not stream. The library's own way waits for an event that never comes, and what waits is
 * kept with the connection.
 */
async function send({ status, header, body }: Answer, response: Response): Promise<void> {
  const pieces: Uint8Array[] = [];
  for await (const piece of body ?? []) pieces.push(piece);
  response.statusCode = status;
  header?.forEach((value, name) => response.setHeader(name, value));
  response.end(Buffer.concat(pieces));
}

/** In the words of the Connect protocol, so that a newer caller knows that it is talking to an older program. */
function sendUnknown(response: Response): void {
  response.statusCode = 404;
  response.setHeader("content-type", "application/json");
  const refusal: RefusalReason = "unknown-method";
  response.setHeader(REFUSAL_HEADER, refusal);
  response.end(JSON.stringify({ code: "unimplemented", message: "this program has no such method" }));
}

/** A caller that never ends its message, or never reads the answer. */
function cut(request: Request): void {
  if ("stream" in request) request.stream.close(constants.NGHTTP2_CANCEL);
  else request.socket.destroy();
}
