/**
 * An agent whose server is played. What it says to the operator, how and how often is what a real one does: the same
 * server, the same services, the same heartbeat.
 */
import { randomUUID, X509Certificate } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { Heartbeat } from "../../pkg/agent/report/heartbeat.ts";
import { OperatorLink } from "../../pkg/agent/report/operator-link.ts";
import { agentRoutes, type Served } from "../../pkg/agent/serve/agent-services.ts";
import { systemClock } from "../../pkg/clock/clock.ts";
import type { Logger } from "../../pkg/log/log.ts";
import type { NodeIdentity } from "../../pkg/pki/pki.ts";
import { PORTS, TRUST_DOMAIN } from "../../pkg/plan/objects/names.ts";
import { RpcClients } from "../../pkg/rpc/clients.ts";
import { MemoryFencing } from "../../pkg/rpc/fencing.ts";
import { type ConfigureRequest, HandoverResult } from "../../pkg/rpc/gen/valkey/agent/v1/agent_pb.ts";
import { AskResponseSchema, GetStandingResponseSchema } from "../../pkg/rpc/gen/valkey/agent/v1/peer_pb.ts";
import { type AppliedConfiguration, AppliedConfigurationSchema } from "../../pkg/rpc/gen/valkey/agent/v1/state_pb.ts";
import { StoredIdentity, type TlsIdentity } from "../../pkg/rpc/identity.ts";
import type { RpcMetrics } from "../../pkg/rpc/rpc-metrics.ts";
import { RpcServer } from "../../pkg/rpc/server.ts";
import * as model from "./fleet-memory-model.ts";

export interface PlayedAgentOptions {
  readonly node: NodeIdentity;
  readonly server: model.PlayedServer;
  readonly identity: TlsIdentity;
  readonly operatorUrl: string;
  readonly operatorNamespace: string;
  readonly metrics: RpcMetrics;
  readonly log: Logger;
  /** Finds a server of the same cluster. */
  readonly at: (ip: string) => model.PlayedServer | undefined;
  /** Its server is not what it was: agents of the cluster see that, and so does kubelet's probe. */
  readonly changed: () => void;
  readonly signal: AbortSignal;
}

export class PlayedAgent {
  readonly #options: PlayedAgentOptions;
  readonly #bootId = randomUUID();
  readonly #bornAt = performance.now();
  readonly #identity: StoredIdentity;
  readonly #heartbeat: Heartbeat;
  #thumbprint: string;
  #applied = { configurationHash: "", secretsHash: "" };

  /** Listens at its own address, and reports until the signal is aborted. */
  static async start(options: PlayedAgentOptions): Promise<PlayedAgent> {
    const agent = new PlayedAgent(options);
    const { node, metrics, log, server, operatorNamespace, signal } = options;
    await RpcServer.listen({
      name: "agent",
      host: server.ip,
      port: PORTS.agent,
      identity: agent.#identity,
      routes: agentRoutes(agent.#served()),
      own: { trustDomain: TRUST_DOMAIN, operatorNamespace, node },
      fencing: new MemoryFencing(),
      metrics,
      log,
    });
    void agent.#report(signal);
    return agent;
  }

  private constructor(options: PlayedAgentOptions) {
    const { identity, metrics, log, operatorUrl, operatorNamespace: namespace } = options;
    this.#options = options;
    this.#identity = new StoredIdentity(identity);
    this.#thumbprint = thumbprintOf(identity);
    const clients = new RpcClients({ identity: this.#identity, metrics, log });
    const link = new OperatorLink(clients, operatorUrl, { role: "operator", trustDomain: TRUST_DOMAIN, namespace });
    this.#heartbeat = new Heartbeat({
      clock: systemClock,
      log,
      link,
      random: Math.random,
      bootId: this.#bootId,
      state: async () => this.#state(),
      before: async () => {},
    });
  }

  get ready(): boolean {
    return model.isReady(this.#options.server);
  }

  /** What it would tell may have changed. */
  poke(): void {
    this.#heartbeat.poke();
  }

  async #report(signal: AbortSignal): Promise<void> {
    try {
      await this.#heartbeat.run(signal);
    } catch (error) {
      if (!signal.aborted) this.#options.log.error({ err: error, node: this.#options.node.node }, "no heartbeats");
    }
  }

  #state() {
    return model.stateOf(this.#options.server, {
      bootId: this.#bootId,
      ...this.#applied,
      identityThumbprint: this.#thumbprint,
      uptimeSeconds: Math.round((performance.now() - this.#bornAt) / 1000),
    });
  }

  #served(): Served {
    const { server, at, changed } = this.#options;
    return {
      bootId: this.#bootId,
      control: {
        own: async (request) => model.own(server, request),
        meet: async (request) => model.meet(server, request, at),
        follow: async (request) => model.follow(server, request),
        forget: async (ids) => model.forget(server, ids),
      },
      state: async () => this.#state(),
      standing: async () => create(GetStandingResponseSchema, { bootId: this.#bootId, nodeId: server.id }),
      configure: async (request) => this.#configure(request),
      whyNoCommands: () => undefined,
      readyToOwn: async (request) => request,
      promoted: async () => model.promote(server),
      handOver: async () => ({ result: HandoverResult.NOT_PRIMARY }),
      answer: async () => create(AskResponseSchema, {}),
      stop: async () => {
        server.stopped = true;
        changed();
      },
      commanded: changed,
    };
  }

  #configure({ configuration, secrets, identity }: ConfigureRequest): AppliedConfiguration {
    if (identity !== undefined) {
      const text = (bytes: Uint8Array) => Buffer.from(bytes).toString("utf8");
      const { certificate, key, authorities } = identity;
      const pushed = { certificate: text(certificate), key: text(key), authorities: text(authorities) };
      this.#identity.replace(pushed);
      this.#thumbprint = thumbprintOf(pushed);
    }
    this.#applied = {
      configurationHash: configuration?.hash ?? this.#applied.configurationHash,
      secretsHash: secrets?.hash ?? this.#applied.secretsHash,
    };
    return create(AppliedConfigurationSchema, this.#applied);
  }
}

function thumbprintOf({ certificate }: TlsIdentity): string {
  return new X509Certificate(certificate).fingerprint256.replaceAll(":", "").toLowerCase();
}
