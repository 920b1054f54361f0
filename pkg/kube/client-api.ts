/** Lets the API classes of @kubernetes/client-node send through our transport; their own does not work under Bun. */
import {
  type Configuration,
  createConfiguration,
  type HttpMethod,
  KubeConfig,
  type RequestContext,
  ResponseContext,
  ServerConfiguration,
  wrapHttpLibrary,
} from "@kubernetes/client-node";
import type { KubeConnection } from "./kube-config.ts";
import { KubeError } from "./kube-error.ts";
import type { KubeRequest, KubeTransport } from "./transport.ts";

export type ApiClass<T> = new (configuration: Configuration) => T;

export function apiOf<T>(transport: KubeTransport, cls: ApiClass<T>): T {
  const httpApi = wrapHttpLibrary({ send: (request) => send(transport, request) });
  return new cls(createConfiguration({ baseServer: new ServerConfiguration(transport.server, {}), httpApi }));
}

async function send(transport: KubeTransport, request: RequestContext): Promise<ResponseContext> {
  const method = methodOf(request.getHttpMethod());
  const path = pathOf(transport.server, request.getUrl());
  const body = request.getBody();
  const action = `${method} ${path.split("?", 1)[0] ?? ""}`;
  if (body !== undefined && typeof body !== "string") {
    throw new KubeError({ code: "bad-request", action, message: "only JSON bodies can be sent" });
  }
  const reply = await transport.send({
    action,
    method,
    path,
    headers: request.getHeaders(),
    body,
    idempotent: method === "GET",
    signal: request.getSignal(),
  });
  const bytes = Buffer.from(reply.body, "utf8");
  return new ResponseContext(
    reply.status,
    { ...reply.headers },
    { text: async () => reply.body, binary: async () => bytes, stream: () => new Blob([bytes]).stream() },
  );
}

/** The URL has been normalised on its way here (no default port), so it need not begin like the server's. */
export function pathOf(server: string, url: string): string {
  const base = new URL(server).pathname.replace(/\/$/u, "");
  const { pathname, search } = new URL(url);
  return `${pathname.slice(base.length)}${search}`;
}

function methodOf(method: HttpMethod): KubeRequest["method"] {
  if (method === "CONNECT" || method === "TRACE") throw new TypeError(`the Kubernetes API has no ${method}`);
  return method;
}

/**
 * For Exec and PortForward of client-node, which open web sockets of their own. It holds the credentials of this moment:
 * to be made for each use, and not kept.
 */
export async function kubeConfigOf(connection: KubeConnection): Promise<KubeConfig> {
  const { ca, servername, rejectUnauthorized = true } = connection.tls();
  const { cert, key, headers } = await connection.credentials.current();
  const bearer = /^Bearer (.+)$/u.exec(String(headers["authorization"] ?? ""))?.[1];
  const config = new KubeConfig();
  config.loadFromOptions({
    clusters: [
      {
        name: "cluster",
        server: connection.server,
        skipTLSVerify: !rejectUnauthorized,
        ...(ca === undefined ? {} : { caData: base64(ca) }),
        ...(servername === undefined ? {} : { tlsServerName: servername }),
      },
    ],
    users: [
      {
        name: "user",
        ...(cert === undefined ? {} : { certData: base64(cert) }),
        ...(key === undefined ? {} : { keyData: base64(key) }),
        ...(bearer === undefined ? {} : { token: bearer }),
      },
    ],
    contexts: [{ name: "context", cluster: "cluster", user: "user", namespace: connection.namespace }],
    currentContext: "context",
  });
  return config;
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}
