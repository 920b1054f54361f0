/**
 * The agent beside one Valkey server, put together: files and gate first, so that the server can start at all; then what
 * others ask it by; then what it does by itself.
 */
import { randomUUID } from "node:crypto";
import { type Clock, pause, systemClock } from "../clock/clock.ts";
import type { Logger } from "../log/log.ts";
import { Registry } from "../metrics/metrics.ts";
import { registerProcessMetrics } from "../metrics/process-metrics.ts";
import type { NodeIdentity } from "../pki/pki.ts";
import { RpcClients } from "../rpc/clients.ts";
import { FileFencing } from "../rpc/fencing.ts";
import { type RpcMetrics, rpcMetrics } from "../rpc/rpc-metrics.ts";
import { RpcServer } from "../rpc/server.ts";
import { VERSION } from "../version/version.ts";
import { AgentIdentity } from "./agent-identity.ts";
import type { AgentOptions } from "./agent-options.ts";
import { Node } from "./node.ts";
import { Heartbeat } from "./report/heartbeat.ts";
import { OperatorLink } from "./report/operator-link.ts";
import { Reporter } from "./report/reporter.ts";
import { agentRoutes } from "./serve/agent-services.ts";
import { HandoverServer } from "./serve/handover-server.ts";
import { ProbeServer } from "./serve/probe-server.ts";
import { valkeyServerControl } from "./server/valkey-server-control.ts";
import type { ServerControl } from "./server-control.ts";
import { type AgentLogin, agentLogin, writeServerConf } from "./server-files.ts";
import { WantedStore } from "./wanted-store.ts";

export interface AgentDeps {
  readonly options: AgentOptions;
  readonly log: Logger;
  readonly clock?: Clock;
  readonly random?: () => number;
  /** Between two heartbeats. Defaults to 5 s. */
  readonly heartbeatMs?: number;
}

/** kubelet refreshes mounts about once a minute. */
const MOUNTS_MS = 5000;
/** Of a look at the own server, for whoever is told its state. */
const STATE_MS = 1000;
/** The loop below sleeps for seconds at most: after so long without a turn the agent hangs, and a restart may help. */
const STUCK_MS = 60_000;
/** The rules give a handover up long before. */
const HANDOVER_MS = 15_000;
/** On a machine that is busy beyond measure, one that is cut off too early begins anew and makes it busier. */
const HANDSHAKE_MS = 15_000;

export class Agent {
  readonly node: Node;
  readonly #parts: Parts;
  readonly #log: Logger;
  readonly #clock: Clock;
  readonly #stop = new AbortController();
  readonly #running: readonly Promise<void>[];
  readonly #failed = Promise.withResolvers<never>();
  #rpc: RpcServer | undefined;
  #handover: HandoverServer | undefined;
  #probes: ProbeServer | undefined;
  #turnAt: number;

  static async start(deps: AgentDeps): Promise<Agent> {
    const agent = new Agent(deps);
    try {
      await agent.#serve(deps.options);
      return agent;
    } catch (error) {
      await agent.stop(AbortSignal.timeout(0));
      throw error;
    }
  }

  private constructor(deps: AgentDeps) {
    const { options, log, clock = systemClock } = deps;
    writeServerConf(options.paths);
    const parts = assemble(deps);
    const { node, heartbeat, reporter } = parts;
    this.node = node;
    this.#parts = parts;
    this.#log = log;
    this.#clock = clock;
    this.#turnAt = clock.monotonic();
    const { signal } = this.#stop;
    // Unheard until somebody waits for it.
    this.#failed.promise.catch(() => undefined);
    this.#running = [
      this.#keep("supervisor", node.supervisor.run(signal)),
      this.#keep("lease", node.lease.driver.run(signal)),
      this.#keep("applying", node.applying.run(signal)),
      this.#keep("heartbeat", heartbeat.run(signal)),
      this.#keep("reporter", reporter.run(signal)),
      this.#keep("mounts", this.#readMounts(signal)),
    ];
  }

  /** Rejects when a part of the agent fails for good: it cannot go on as half an agent. */
  get failed(): Promise<never> {
    return this.#failed.promise;
  }

  /** Resolves when no server is left to care for: an agent that is told to end goes on for as long as its server runs. */
  async serverGone(signal: AbortSignal): Promise<void> {
    await this.node.supervisor.gone(signal);
  }

  /** The server goes on without it. */
  async stop(signal: AbortSignal): Promise<void> {
    this.#stop.abort(new Error("the agent stops"));
    await Promise.all(this.#running);
    this.#handover?.close();
    await this.#rpc?.stop(signal);
    this.#parts.clients.close();
    this.node.lease.close();
    this.node.control.close();
    await this.#probes?.close();
  }

  async #serve(options: AgentOptions): Promise<void> {
    const { identity, metrics, registry } = this.#parts;
    const { paths, listen, trustDomain, operatorNamespace } = options;
    const host = listen === undefined ? {} : { host: listen };
    this.#rpc = await RpcServer.listen({
      name: "agent",
      identity: identity.source,
      routes: agentRoutes(this.node),
      own: { trustDomain, operatorNamespace, node: nodeIdentity(options) },
      fencing: await FileFencing.open(paths.fencing),
      metrics,
      log: this.#log,
      ...host,
      port: options.rpcPort,
      handshakeMs: HANDSHAKE_MS,
      answerPeer: (question, caller, signal) => this.node.lease.answering.onStream(question, caller, signal),
      onCallerGone: (caller) => {
        if (caller.role === "node") this.node.lease.driver.agentGone(caller.node);
      },
    });
    this.#handover = await HandoverServer.listen({
      path: paths.agentSocket,
      log: this.#log,
      handover: () => this.node.leave(AbortSignal.timeout(HANDOVER_MS)),
    });
    this.#probes = new ProbeServer({
      ...host,
      port: options.probePort,
      probes: {
        "/livez": () => this.#hang(),
        "/readyz": (signal) => this.node.readiness.ask(signal),
      },
      metrics: () => registry.text(),
    });
    this.#log.info({ node: options.node, bootId: this.node.bootId, rpcPort: options.rpcPort }, "the agent serves");
  }

  /** Only what a restart of the agent can help: a server that is away is not a reason. */
  #hang(): string | undefined {
    const idleMs = this.#clock.monotonic() - this.#turnAt;
    return idleMs < STUCK_MS ? undefined : `the agent has done nothing for ${Math.round(idleMs / 1000)} s`;
  }

  async #readMounts(signal: AbortSignal): Promise<void> {
    while (await pause(this.#clock, MOUNTS_MS, signal)) {
      this.#turnAt = this.#clock.monotonic();
      this.#parts.identity.readMount();
      this.node.readMounts();
    }
  }

  async #keep(part: string, running: Promise<void>): Promise<void> {
    try {
      await running;
    } catch (error) {
      if (this.#stop.signal.aborted) return;
      this.#log.error({ err: error, part }, "a part of the agent failed");
      this.#failed.reject(new Error(`${part} failed`, { cause: error }));
    }
  }
}

export function nodeIdentity(options: AgentOptions): NodeIdentity {
  const { trustDomain, namespace, parentKind: kind, parentName: name, node } = options;
  return { role: "node", trustDomain, namespace, kind, name, node };
}

function serverControl({ paths, listen }: AgentOptions, credentials: AgentLogin, clock: Clock): ServerControl {
  const { serverSocket: socketPath, aclFile, tlsDir } = paths;
  const host = listen === undefined ? {} : { host: listen };
  return valkeyServerControl({ socketPath, credentials, aclFile, tlsDir, clock, ...host });
}

interface Parts {
  readonly node: Node;
  readonly identity: AgentIdentity;
  readonly store: WantedStore;
  readonly clients: RpcClients;
  readonly heartbeat: Heartbeat;
  readonly reporter: Reporter;
  readonly registry: Registry;
  readonly metrics: RpcMetrics;
}

function assemble({ options, log, clock = systemClock, random = Math.random, heartbeatMs }: AgentDeps): Parts {
  const { paths, trustDomain, operatorNamespace: namespace } = options;
  const bootId = randomUUID();
  const registry = new Registry();
  registerProcessMetrics(registry, { name: "valkey-sidecar", version: VERSION.version });
  const metrics = rpcMetrics(registry);
  const own = nodeIdentity(options);
  const identity = new AgentIdentity(paths, own, log);
  const store = new WantedStore(paths, log);
  const clients = new RpcClients({ identity: identity.source, metrics, log, clock });
  const link = new OperatorLink(clients, options.operatorUrl, { role: "operator", trustDomain, namespace });
  const state = () => node.state(AbortSignal.timeout(STATE_MS));
  const telling = { clock, log, link, bootId, state };
  const reporter = new Reporter(telling);
  const heartbeat = new Heartbeat({
    ...telling,
    random,
    before: (signal) => node.applying.checkDrift(signal),
    ...(heartbeatMs === undefined ? {} : { everyMs: heartbeatMs }),
  });
  const login = agentLogin(paths);
  const node: Node = new Node({
    options,
    bootId,
    clock,
    log,
    control: serverControl(options, login, clock),
    login,
    store,
    identity,
    ask: { clients, own, bootId, rpcPort: options.rpcPort },
    tell: (reason, message) => reporter.tell(reason, message),
    onChange: () => heartbeat.poke(),
  });
  return { node, identity, store, clients, heartbeat, reporter, registry, metrics };
}
