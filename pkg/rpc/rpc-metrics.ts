/** What servers and clients of our RPC tell about themselves. One set per process; each server is a label. */
import type { Counter, Gauge, Histogram, Registry } from "../metrics/metrics.ts";

export interface RpcMetrics {
  readonly refusals: Counter<"server" | "reason">;
  readonly served: Counter<"server" | "method" | "code">;
  readonly duration: Histogram<"server" | "method">;
  readonly connections: Gauge<"server">;
  readonly called: Counter<"method" | "code">;
  readonly targets: Gauge<"http">;
}

export function rpcMetrics(registry: Registry): RpcMetrics {
  return {
    refusals: registry.counter({
      name: "rpc_refusals_total",
      help: "Calls and handshakes refused, by reason.",
      labels: ["server", "reason"],
    }),
    served: registry.counter({
      name: "rpc_served_total",
      help: "Calls whose handler ran, by how they ended.",
      labels: ["server", "method", "code"],
    }),
    duration: registry.histogram({
      name: "rpc_served_duration_seconds",
      help: "How long handlers took.",
      labels: ["server", "method"],
    }),
    connections: registry.gauge({
      name: "rpc_connections",
      help: "Connections of callers that are open.",
      labels: ["server"],
    }),
    called: registry.counter({
      name: "rpc_calls_total",
      help: "Own calls of others, by how they ended.",
      labels: ["method", "code"],
    }),
    targets: registry.gauge({
      name: "rpc_targets",
      help: "Others with whom a connection is kept.",
      labels: ["http"],
    }),
  };
}
