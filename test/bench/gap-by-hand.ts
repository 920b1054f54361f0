/**
 * What a change of primary costs at least: bare servers, and somebody who forces the failover in the very moment in
 * which the primary goes. Measured by the same client as ours.
 */
import { until } from "../lib/until.ts";
import { ValkeyCluster } from "../lib/valkey-cluster.ts";
import type { ValkeyServer } from "../lib/valkey-server.ts";
import { WriteClient } from "../lib/write-client/write-client.ts";

/** Ten milliseconds between two writes to a shard. */
export const GAP_RATE = 300;

export interface Gap {
  /** The longest time without a successful write. */
  readonly ms: number;
  /** Acknowledged writes that were gone. */
  readonly lost: number;
}

export class ByHand implements AsyncDisposable {
  readonly #cluster: ValkeyCluster;
  readonly #stop: NodeJS.Signals;

  /** SIGKILL for a primary that dies, SIGSTOP for one that falls silent. */
  static async start(stop: "SIGKILL" | "SIGSTOP"): Promise<ByHand> {
    return new ByHand(await ValkeyCluster.start({ version: "9.1", primaries: 3, replicas: 1 }), stop);
  }

  private constructor(cluster: ValkeyCluster, stop: NodeJS.Signals) {
    this.#cluster = cluster;
    this.#stop = stop;
  }

  async round(round: number): Promise<Gap> {
    const { primary, replica } = await this.#roles(round % 3);
    const { addresses } = this.#cluster;
    await using client = await WriteClient.start({ addresses, frontEnd: "prober", rate: GAP_RATE });
    await until("writes", () => client.acknowledged > 100);
    const hand = await replica.connect();
    process.kill(primary.pid, this.#stop);
    await hand.call("CLUSTER", "FAILOVER", "FORCE");
    hand.close();
    await until("the replica leads", async () => leads(replica));
    const goal = client.acknowledged + 200;
    await until("writes go on", () => client.acknowledged > goal && client.waiting < 6);
    const { worstGapMs, lost } = await client.stop();
    await this.#bringBack(primary);
    return { ms: worstGapMs, lost: lost.length };
  }

  async #bringBack(old: ValkeyServer): Promise<void> {
    if (this.#stop === "SIGSTOP") process.kill(old.pid, "SIGCONT");
    else await old.launch();
    await until("the old one follows", async () => {
      const role = await old.send("ROLE");
      return Array.isArray(role) && role[0] === "slave" && role[3] === "connected";
    });
  }

  async #roles(shard: number): Promise<{ primary: ValkeyServer; replica: ValkeyServer }> {
    const { primary, replicas } = this.#cluster.shard(shard);
    const [replica] = replicas;
    if (replica === undefined) throw new Error(`shard ${shard} has no replica`);
    return (await leads(primary)) ? { primary, replica } : { primary: replica, replica: primary };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#cluster[Symbol.asyncDispose]();
  }
}

async function leads(server: ValkeyServer): Promise<boolean> {
  const role = await server.send("ROLE");
  return Array.isArray(role) && role[0] === "master";
}
