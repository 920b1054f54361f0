/** What kubelet asks, in plain HTTP: does the agent live, is the node ready for clients. */
import type { Server } from "bun";

/** The reason when it does not hold; undefined when it does. */
export type Probe = (signal: AbortSignal) => string | undefined | Promise<string | undefined>;

export interface ProbeServerOptions {
  readonly host?: string | undefined;
  readonly port: number;
  readonly probes: Readonly<Record<"/livez" | "/readyz", Probe>>;
  /** Prometheus text. */
  readonly metrics: () => string;
}

export class ProbeServer {
  readonly #server: Server<undefined>;

  constructor({ host, port, probes, metrics }: ProbeServerOptions) {
    const checks = new Map<string, Probe>(Object.entries(probes));
    this.#server = Bun.serve({
      ...(host === undefined ? {} : { hostname: host }),
      port,
      maxRequestBodySize: 0,
      fetch: async (request) => {
        const { pathname } = new URL(request.url);
        if (pathname === "/metrics") return new Response(metrics());
        const probe = checks.get(pathname);
        if (probe === undefined) return text(404, `there are ${[...checks.keys()].join(", ")} and /metrics`);
        const problem = await probe(request.signal);
        return problem === undefined ? text(200, "ok") : text(503, problem);
      },
    });
  }

  get port(): number {
    return this.#server.port ?? 0;
  }

  async close(): Promise<void> {
    await this.#server.stop(true);
  }
}

function text(status: number, body: string): Response {
  return new Response(`${body}\n`, { status });
}
