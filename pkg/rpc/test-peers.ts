/** For tests: authorities, identities of nodes and operators, and servers and clients that use them, on loopback. */
import { ConnectError, type ConnectRouter } from "@connectrpc/connect";
import { pino } from "pino";
import * as v from "valibot";
import { Registry } from "../metrics/metrics.ts";
import {
  type Credential,
  createIntermediate,
  createRoot,
  encodeCertificates,
  encodeKey,
  formatSpiffeId,
  issueLeaf,
  type NodeIdentity,
  type OperatorIdentity,
  type SpiffeId,
} from "../pki/pki.ts";
import { RpcClients, type RpcClientsOptions } from "./clients.ts";
import { MemoryFencing } from "./fencing.ts";
import { AgentService } from "./gen/valkey/agent/v1/agent_pb.ts";
import { PeerService } from "./gen/valkey/agent/v1/peer_pb.ts";
import { StoredIdentity, type TlsIdentity } from "./identity.ts";
import { rpcMetrics } from "./rpc-metrics.ts";
import { RpcServer, type RpcServerOptions } from "./server.ts";

export const HOUR_MS = 3_600_000;
export const TRUST_DOMAIN = "valkey.local";
export const OPERATOR: OperatorIdentity = { role: "operator", trustDomain: TRUST_DOMAIN, namespace: "system" };

export function node(name: string, more: Partial<NodeIdentity> = {}): NodeIdentity {
  const deployment = { namespace: "shop", kind: "valkeycluster", name: "cart" };
  return { role: "node", trustDomain: TRUST_DOMAIN, ...deployment, node: name, ...more };
}

export const NODE = node("cart-0-0");
export const PEER = node("cart-0-1");

/** A root and an intermediate below it. */
export class TestAuthority {
  readonly root: Credential;
  readonly between: Credential;

  private constructor(root: Credential, between: Credential) {
    this.root = root;
    this.between = between;
  }

  static async make(root?: Credential): Promise<TestAuthority> {
    const made = { now: new Date(Date.now() - 5 * HOUR_MS), lifetimeMs: 10 * HOUR_MS };
    const own = root ?? (await createRoot({ name: "root", ...made }));
    return new TestAuthority(own, await createIntermediate(own, { name: "cart", ...made }));
  }

  get pem(): string {
    return encodeCertificates([this.root.certificate]);
  }

  /** Trusts its own root, or those given. */
  async identity(id: SpiffeId, more: IdentityOptions = {}): Promise<TlsIdentity> {
    const { now = new Date(), lifetimeMs = HOUR_MS, authorities = this.pem } = more;
    const leaf = await issueLeaf(this.between, { name: "leaf", now, lifetimeMs, names: { uri: [formatSpiffeId(id)] } });
    return {
      certificate: encodeCertificates([leaf.certificate, this.between.certificate]),
      key: await encodeKey(leaf.keys.privateKey),
      authorities,
    };
  }
}

export interface IdentityOptions {
  readonly now?: Date;
  readonly lifetimeMs?: number;
  readonly authorities?: string;
}

export type LogLine = Readonly<Record<string, unknown>>;
const LOG_LINE = v.record(v.string(), v.unknown());

export interface TestServer extends AsyncDisposable {
  readonly server: RpcServer;
  readonly identity: StoredIdentity;
  readonly target: { readonly host: string; readonly port: number };
  readonly log: readonly LogLine[];
  /** How often a reason was counted. */
  refusals(reason: string): number;
  metric(series: string): number;
  /** Whether a refusal for this reason is in the log. */
  said(reason: string): boolean;
}

/** The agent of NODE, unless told otherwise. */
export async function startAgent(identity: TlsIdentity, more: Partial<RpcServerOptions> = {}): Promise<TestServer> {
  const registry = new Registry();
  const lines: LogLine[] = [];
  const stored = new StoredIdentity(identity);
  const server = await RpcServer.listen({
    name: "agent",
    host: "127.0.0.1",
    identity: stored,
    routes: agentRoutes(),
    own: { trustDomain: TRUST_DOMAIN, operatorNamespace: OPERATOR.namespace, node: NODE },
    fencing: new MemoryFencing(),
    metrics: rpcMetrics(registry),
    log: pino({ level: "debug" }, { write: (line) => void lines.push(v.parse(LOG_LINE, JSON.parse(line))) }),
    ...more,
  });
  return {
    server,
    identity: stored,
    target: { host: "127.0.0.1", port: server.port },
    log: lines,
    refusals: (reason) => counted(registry, `rpc_refusals_total{server="agent",reason="${reason}"}`),
    said: (reason) => lines.some((line) => line["msg"] === "call refused" && line["reason"] === reason),
    metric: (series) => counted(registry, series),
    [Symbol.asyncDispose]: () => server.stop(AbortSignal.abort()),
  };
}

export interface AgentBehaviour {
  readonly getState?: (signal: AbortSignal) => Promise<void>;
}

export function agentRoutes(behaviour: AgentBehaviour = {}): (router: ConnectRouter) => void {
  return (router) => {
    router.service(AgentService, {
      getInfo: () => ({ version: "0.1.0", protocol: 1, bootId: "boot" }),
      getState: async (_, context) => {
        await behaviour.getState?.(context.signal);
        return {};
      },
      configure: () => ({}),
      meet: () => ({}),
    });
    router.service(PeerService, { getStanding: () => ({ bootId: "boot" }) });
  };
}

export function counted(registry: Registry, series: string): number {
  const line = registry
    .text()
    .split("\n")
    .find((text) => text.startsWith(`${series} `));
  return line === undefined ? 0 : Number(line.slice(series.length + 1));
}

export type TestClients = RpcClients & Disposable & { readonly identity: StoredIdentity };

/** Leads with term 7, unless told otherwise. */
export function startClients(identity: TlsIdentity, more: Partial<RpcClientsOptions> = {}): TestClients {
  const stored = new StoredIdentity(identity);
  const made = new RpcClients({
    identity: stored,
    metrics: rpcMetrics(new Registry()),
    log: pino({ level: "silent" }),
    fencingToken: () => 7,
    ...more,
  });
  return Object.assign(made, { identity: stored, [Symbol.dispose]: () => made.close() });
}

export async function failure(call: Promise<unknown>): Promise<ConnectError> {
  const error: unknown = await call.then(
    () => new Error("the call succeeded"),
    (reason: unknown) => reason,
  );
  if (error instanceof ConnectError) return error;
  throw new Error("the call did not fail as a call does", { cause: error });
}
