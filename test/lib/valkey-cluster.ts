/** A Valkey Cluster on loopback, formed by raw commands in about a second, for tests of what talks to clusters. */
import type { Address } from "./resp/connection.ts";
import { until } from "./until.ts";
import { type ServerOptions, ValkeyServer } from "./valkey-server.ts";

const SLOTS = 16_384;

export interface ClusterOptions extends ServerOptions {
  readonly primaries: number;
  /** Of each primary. */
  readonly replicas: number;
  /** Defaults to 5000. */
  readonly nodeTimeoutMs?: number;
}

export interface Shard {
  readonly primary: ValkeyServer;
  readonly replicas: readonly ValkeyServer[];
}

export class ValkeyCluster implements AsyncDisposable {
  readonly servers: readonly ValkeyServer[];
  /** As they were formed: a failover does not change this list. */
  readonly shards: readonly Shard[];

  static async start(options: ClusterOptions): Promise<ValkeyCluster> {
    const config: ServerOptions["config"] = [
      ["cluster-enabled", "yes"],
      ["cluster-node-timeout", String(options.nodeTimeoutMs ?? 5000)],
      ["cluster-allow-replica-migration", "no"],
      ...(options.config ?? []),
    ];
    const count = options.primaries * (1 + options.replicas);
    const starting = Array.from({ length: count }, () => ValkeyServer.start({ ...options, config }));
    const started = await Promise.allSettled(starting);
    const servers = started.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
    const failed = started.find((result) => result.status === "rejected");
    const cluster = new ValkeyCluster(servers, options);
    try {
      if (failed !== undefined) throw failed.reason;
      await cluster.#form();
      return cluster;
    } catch (error) {
      await cluster[Symbol.asyncDispose]();
      throw error;
    }
  }

  private constructor(servers: readonly ValkeyServer[], { primaries, replicas }: ClusterOptions) {
    this.servers = servers;
    this.shards = servers.slice(0, primaries).map((primary, index) => {
      const first = primaries + index * replicas;
      return { primary, replicas: servers.slice(first, first + replicas) };
    });
  }

  get addresses(): readonly Address[] {
    return this.servers.map(({ address }) => address);
  }

  shard(index: number): Shard {
    const shard = this.shards[index];
    if (shard === undefined) throw new Error(`the cluster has no shard ${index}`);
    return shard;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.servers.map((server) => server[Symbol.asyncDispose]()));
  }

  async #form(): Promise<void> {
    await Promise.all(this.shards.map((shard, index) => this.#assign(shard, index)));
    await this.#meet();
    await Promise.all(this.shards.map(follow));
    await Promise.all(
      this.servers.map((server) => until(`cluster state ok on ${server.address.port}`, () => isReady(server))),
    );
  }

  async #assign({ primary }: Shard, index: number): Promise<void> {
    const from = Math.floor((index * SLOTS) / this.shards.length);
    const to = Math.floor(((index + 1) * SLOTS) / this.shards.length) - 1;
    await primary.send("CLUSTER", "SET-CONFIG-EPOCH", String(index + 1));
    await primary.send("CLUSTER", "ADDSLOTSRANGE", String(from), String(to));
  }

  async #meet(): Promise<void> {
    const [first, ...others] = this.servers;
    if (first === undefined) return;
    for (const other of others) {
      const bus = String(await configured(other, "cluster-port"));
      await first.send("CLUSTER", "MEET", other.address.host, String(other.address.port), bus);
    }
    for (const server of this.servers) {
      await until(`port ${server.address.port} knows all ${this.servers.length} nodes`, async () => {
        const nodes = String(await server.send("CLUSTER", "NODES"))
          .trim()
          .split("\n");
        return nodes.length === this.servers.length && !nodes.some((line) => line.includes("handshake"));
      });
    }
  }
}

async function follow({ primary, replicas }: Shard): Promise<void> {
  const id = String(await primary.send("CLUSTER", "MYID"));
  for (const replica of replicas) {
    await until(`${replica.address.port} follows ${id}`, async () => {
      return (await replica.send("CLUSTER", "REPLICATE", id)) === "OK";
    });
  }
}

/** State ok, and replicas in sync with their primary. */
async function isReady(server: ValkeyServer): Promise<boolean> {
  const info = String(await server.send("CLUSTER", "INFO"));
  if (!info.includes("cluster_state:ok")) return false;
  const role = await server.send("ROLE");
  if (!Array.isArray(role)) return false;
  return role[0] === "master" || role[3] === "connected";
}

async function configured(server: ValkeyServer, name: string): Promise<unknown> {
  const reply = await server.send("CONFIG", "GET", name);
  return Array.isArray(reply) ? reply[1] : undefined;
}
