/**
 * Agents with real servers, certificates and a played operator, on loopback: what a pod is to them (folders, mounts, an
 * address of its own) without Kubernetes. Every pod has an address in 127.0.0.0/8, so that all use the same ports.
 */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, type MessageInitShape, toJsonString } from "@bufbuild/protobuf";
import type { Client } from "@connectrpc/connect";
import { pino } from "pino";
import type { AgentService } from "../../pkg/rpc/gen/valkey/agent/v1/agent_pb.ts";
import {
  type Configuration,
  ConfigurationSchema,
  type SecretMaterial,
  SecretMaterialSchema,
} from "../../pkg/rpc/gen/valkey/agent/v1/configuration_pb.ts";
import type { NodeState } from "../../pkg/rpc/gen/valkey/agent/v1/state_pb.ts";
import { OperatorService, type ReportRequest } from "../../pkg/rpc/gen/valkey/operator/v1/operator_pb.ts";
import type { TlsIdentity } from "../../pkg/rpc/identity.ts";
import { type RpcServer } from "../../pkg/rpc/server.ts";
import {
  node,
  OPERATOR,
  startClients,
  startAgent as startRpcServer,
  TestAuthority,
  type TestClients,
} from "../../pkg/rpc/test-peers.ts";
import type { ValkeyVersion } from "../lab/valkey.ts";
import { AgentPod } from "./agent-pod.ts";
import { until } from "./until.ts";

export interface WorldOptions {
  readonly version: ValkeyVersion;
  readonly shards: number;
  readonly replicas: number;
  readonly settings?: readonly (readonly [string, string])[];
  readonly secrets?: Omit<MessageInitShape<typeof SecretMaterialSchema>, "$typeName" | "$unknown">;
}

export interface Told {
  readonly from: string;
  readonly state: NodeState | undefined;
}

const SLOTS = 16_384;

/** What the operator would say, with what makes servers quick in tests; nothing is kept on disk unless a test says so. */
const SETTINGS = [
  ["cluster-node-timeout", "2000"],
  ["cluster-require-full-coverage", "no"],
  ["repl-diskless-sync-delay", "0"],
  ["repl-ping-replica-period", "1"],
  ["save", ""],
] as const;

export class AgentWorld implements AsyncDisposable {
  readonly options: WorldOptions;
  readonly authority: TestAuthority;
  readonly clients: TestClients;
  readonly heartbeats: Told[] = [];
  readonly reports: ReportRequest[] = [];
  readonly pods: readonly AgentPod[];
  configuration: Configuration;
  secrets: SecretMaterial;
  readonly #dir: string;
  #operator: { readonly server: RpcServer; readonly url: string } | undefined;

  static async start(options: WorldOptions): Promise<AgentWorld> {
    const authority = await TestAuthority.make();
    const dir = await mkdtemp(join(tmpdir(), "agents-"));
    const world = new AgentWorld(options, authority, {
      dir,
      clients: startClients(await authority.identity(OPERATOR)),
    });
    await world.#serve();
    await Promise.all(world.pods.map((pod) => pod.prepare()));
    return world;
  }

  private constructor(
    options: WorldOptions,
    authority: TestAuthority,
    at: { readonly dir: string; readonly clients: TestClients },
  ) {
    this.options = options;
    this.authority = authority;
    this.clients = at.clients;
    this.#dir = at.dir;
    // One world does not meet another of this machine.
    const net = `127.${40 + Math.floor(Math.random() * 200)}.${Math.floor(Math.random() * 256)}`;
    const names = Array.from({ length: options.shards }, (_, shard) =>
      Array.from({ length: options.replicas + 1 }, (_, member) => ({ name: `cart-${shard}-${member}`, shard, member })),
    ).flat();
    const members = names.map((member, index) => ({ ...member, host: `${net}.${index + 1}`, announcedHost: "" }));
    this.configuration = create(ConfigurationSchema, {
      sequence: 1n,
      hash: "first",
      settings: [...SETTINGS, ...(options.settings ?? [])].map(([name, value]) => ({ name, value })),
      members,
      wire: { port: 6379, busPort: 16_379 },
    });
    this.secrets = create(SecretMaterialSchema, { sequence: 1n, hash: "first", ...options.secrets });
    this.pods = members.map((member) => new AgentPod(this, { ...member, dir: join(at.dir, member.name) }));
  }

  pod(shard: number, member: number): AgentPod {
    const pod = this.pods.find(({ at }) => at.shard === shard && at.member === member);
    if (pod === undefined) throw new Error(`there is no pod ${shard}-${member}`);
    return pod;
  }

  get operatorUrl(): string {
    if (this.#operator === undefined) throw new Error("the operator does not serve");
    return this.#operator.url;
  }

  /** As the operator calls it. */
  agent({ at }: AgentPod): Client<typeof AgentService> {
    return this.clients.agent({ host: at.host, port: 8444 }, node(at.name));
  }

  async identityOf(name: string): Promise<TlsIdentity> {
    return this.authority.identity(node(name));
  }

  async writeMounts(folder: string, name: string): Promise<void> {
    const identity = await this.identityOf(name);
    const files: readonly (readonly [string, string])[] = [
      ["config/configuration.json", toJsonString(ConfigurationSchema, this.configuration)],
      ["secrets/secrets.json", toJsonString(SecretMaterialSchema, this.secrets)],
      ["identity/tls.crt", identity.certificate],
      ["identity/tls.key", identity.key],
      ["identity/ca.crt", identity.authorities],
    ];
    for (const [file, content] of files) {
      await mkdir(join(folder, file, ".."), { recursive: true });
      await writeFile(join(folder, file), content);
    }
  }

  slotsOf(shard: number): { readonly first: number; readonly last: number } {
    const { shards } = this.options;
    const from = (index: number) => Math.floor((index * SLOTS) / shards);
    return { first: from(shard), last: from(shard + 1) - 1 };
  }

  /** Starts every pod and does what the operator would until all are ready. */
  async form(): Promise<void> {
    await Promise.all(this.pods.map((pod) => pod.start()));
    await this.formRunning();
  }

  async formRunning(): Promise<void> {
    const ids = new Map(await Promise.all(this.pods.map(async (pod) => [pod, await idOf(pod)] as const)));
    for (const pod of this.pods.filter(({ at }) => at.member === 0)) {
      const slots = [this.slotsOf(pod.at.shard)];
      await this.agent(pod).own({ nodeId: ids.get(pod) ?? "", slots, configEpoch: BigInt(pod.at.shard + 1) });
    }
    await this.meet();
    await Promise.all(
      this.pods
        .filter(({ at }) => at.member > 0)
        .map(async (pod) => {
          const primaryId = ids.get(this.pod(pod.at.shard, 0)) ?? "";
          await this.agent(pod).follow({ nodeId: ids.get(pod) ?? "", primaryId }, { timeoutMs: 15_000 });
        }),
    );
    await Promise.all(this.pods.map((pod) => pod.ready()));
    await until("all servers know each other's roles", () => this.#allKnowAll());
  }

  /** Who has not heard yet that another is a replica, or of the newest epoch, takes no part in an election as it should. */
  async #allKnowAll(): Promise<boolean> {
    const states = await Promise.all(this.pods.map((pod) => pod.state()));
    const tables = states.flatMap(({ cluster }) => cluster ?? []);
    const roles = new Map(tables.map(({ nodeId, role }) => [nodeId, role]));
    const epochs = new Set(tables.map(({ currentEpoch }) => currentEpoch));
    return epochs.size === 1 && tables.every(({ nodes }) => nodes.every(({ id, role }) => roles.get(id) === role));
  }

  /** Introduces all pods to the first one that runs. */
  async meet(): Promise<void> {
    const [first, ...others] = this.pods;
    if (first === undefined) return;
    await this.agent(first).meet({ peers: others.map(({ at }) => ({ ip: at.host, port: 6379, busPort: 16_379 })) });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.pods.map((pod) => pod[Symbol.asyncDispose]()));
    this.clients.close();
    await this.#operator?.server.stop(AbortSignal.abort());
    await rm(this.#dir, { recursive: true, force: true });
  }

  async #serve(): Promise<void> {
    const { server, target } = await startRpcServer(await this.authority.identity(OPERATOR), {
      name: "operator",
      log: pino({ level: "silent" }),
      own: { trustDomain: OPERATOR.trustDomain, operatorNamespace: OPERATOR.namespace },
      routes: (router) => {
        router.service(OperatorService, {
          heartbeat: ({ bootId, state }) => {
            this.heartbeats.push({ from: bootId, state });
            return { leading: true };
          },
          report: (request) => {
            this.reports.push(request);
            return {};
          },
        });
      },
    });
    this.#operator = { server, url: `https://127.0.0.1:${target.port}` };
  }
}

async function idOf(pod: AgentPod): Promise<string> {
  const { cluster } = await pod.runs();
  return cluster?.nodeId ?? "";
}
