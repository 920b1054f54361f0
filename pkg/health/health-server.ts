/**
 * The plain HTTP port that kubelet, Prometheus and a person with port-forward talk to:
 *
 *     GET /livez  /readyz [?verbose]   named checks, with the reason of each that fails
 *     GET /metrics                     Prometheus text
 *     GET /loglevel, PUT /loglevel     from inside the pod only: `debug` as the body
 *
 * Liveness has few checks and none that looks at another program: a restart must be able to help.
 */
import type { Server } from "bun";
import { LOG_LEVELS, type Logger } from "../log/log.ts";
import { type Check, report, runChecks } from "./health-check.ts";
import { type LevelControl, parseLogLevel } from "./log-level.ts";

export interface HealthOptions {
  readonly log: Logger;
  /** Defaults to all addresses. */
  readonly host?: string;
  /** Defaults to 0: any free port. */
  readonly port?: number;
  readonly metrics?: () => string | Promise<string>;
  readonly level?: LevelControl;
  /** Of each check. Defaults to 800 ms: below the second that kubelet waits by default. */
  readonly checkDeadlineMs?: number;
}

const LONGEST_BODY = 1024;
const PROMETHEUS_TEXT = "text/plain; version=0.0.4; charset=utf-8";

export class HealthServer {
  readonly #live = new Map<string, Check>();
  readonly #ready = new Map<string, Check>();
  readonly #options: HealthOptions;
  readonly #server: Server<undefined>;
  #stopping: string | undefined;

  constructor(options: HealthOptions) {
    this.#options = options;
    this.#ready.set("shutdown", () => this.#stopping);
    this.#server = Bun.serve({
      ...(options.host === undefined ? {} : { hostname: options.host }),
      port: options.port ?? 0,
      maxRequestBodySize: LONGEST_BODY,
      fetch: async (request, server) => this.#answer(request, server.requestIP(request)?.address ?? ""),
      error: (error) => this.#failed(error),
    });
  }

  get port(): number {
    return this.#server.port ?? 0;
  }

  addLiveness(name: string, check: Check): void {
    this.#live.set(name, check);
  }

  addReadiness(name: string, check: Check): void {
    this.#ready.set(name, check);
  }

  /** The first thing in a shutdown: no new work, while the port still answers. */
  notReady(reason: string): void {
    this.#stopping = reason;
  }

  /** Lets answers that are under way go out. */
  async close(): Promise<void> {
    await this.#server.stop();
  }

  async #answer(request: Request, peer: string): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    const verbose = searchParams.has("verbose");
    switch (pathname) {
      case "/livez":
        return this.#checked("livez", this.#live, verbose);
      case "/readyz":
        return this.#checked("readyz", this.#ready, verbose);
      case "/metrics":
        return new Response(await (this.#options.metrics ?? (() => ""))(), {
          headers: { "content-type": PROMETHEUS_TEXT },
        });
      case "/loglevel":
        return this.#logLevel(request, peer);
      default:
        return text(404, "there are /livez, /readyz, /metrics and /loglevel");
    }
  }

  /** The reasons are told whenever something fails; a good answer is short unless asked for more. */
  async #checked(what: string, checks: ReadonlyMap<string, Check>, verbose: boolean): Promise<Response> {
    const results = await runChecks(checks, this.#options.checkDeadlineMs ?? 800);
    const good = results.every(({ problem }) => problem === undefined);
    return good && !verbose ? text(200, "ok") : new Response(report(what, results), { status: good ? 200 : 503 });
  }

  async #logLevel(request: Request, peer: string): Promise<Response> {
    const { level, log } = this.#options;
    if (level === undefined) return text(404, "the log level of this program cannot be changed");
    if (!isLoopback(peer)) return text(403, "the log level is for callers inside the pod: use kubectl port-forward");
    if (request.method === "GET") return text(200, level.current);
    if (request.method !== "PUT") return text(405, "GET tells the log level, PUT changes it");
    const wanted = parseLogLevel((await request.text()).trim());
    if (wanted === undefined) return text(400, `the body must be one of ${LOG_LEVELS.join(", ")}`);
    level.set(wanted);
    log.warn({ logLevel: wanted }, "log level changed over HTTP");
    return text(200, wanted);
  }

  #failed(error: Error): Response {
    this.#options.log.error({ err: error }, "health request failed");
    return text(500, `failed: ${error.message}`);
  }
}

export function isLoopback(address: string): boolean {
  return address === "::1" || /^(?:::ffff:)?127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/i.test(address);
}

function text(status: number, body: string): Response {
  return new Response(`${body}\n`, { status });
}
