/** health: the plain HTTP server for probes and metrics. */
import { say } from "./say.ts";

export function serveHealth(): void {
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    routes: { "/healthz": new Response("ok"), "/metrics": () => new Response(`up 1\n`) },
    fetch: () => new Response("not found", { status: 404 }),
  });
  say({ port: server.port });
  process.once("SIGTERM", () => {
    void server.stop().then(() => process.exit(0));
  });
}
