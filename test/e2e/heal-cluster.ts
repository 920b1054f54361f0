/** A cluster that faults are done to while a client writes to it, and what is asked of it between two of them. */
import { PORTS } from "../../pkg/plan/objects/names.ts";
import type { ContainerRef } from "../lab/faults.ts";
import type { ValkeyVersion } from "../lab/valkey.ts";
import { SHARDS } from "../lib/losses.ts";
import type { Address } from "../lib/resp/connection.ts";
import { type UntilOptions, until } from "../lib/until.ts";
import type { Report } from "../lib/write-client/report.ts";
import { WriteClient } from "../lib/write-client/write-client.ts";
import { kubectl } from "./cluster.ts";
import { applyCluster, type ClusterRef, clusterAt, clusterReady, holds } from "./clusters.ts";
import { type Member, membersOf } from "./heal-members.ts";

export interface Shape {
  readonly version: ValkeyVersion;
  /** Of each primary. */
  readonly replicas: number;
}

/** The shape that a file tests by default, or with HEAL_ALL=1 each version with one and with two replicas. */
export function shapes(usual: Shape): readonly Shape[] {
  if (process.env["HEAL_ALL"] === undefined) return [usual];
  return (["8.1", "9.1"] as const).flatMap((version) => [1, 2].map((replicas) => ({ version, replicas })));
}

export function shapeText({ version, replicas }: Shape): string {
  return `Valkey ${version}, ${SHARDS} x (1 + ${replicas})`;
}

/** So many writes show that all shards are served: they fall due to the shards in turn. */
const ROUND = SHARDS * 10;
const RATE = 150;

export class HealCluster {
  readonly ref: ClusterRef;
  readonly shape: Shape;

  constructor(ref: ClusterRef, shape: Shape) {
    this.ref = ref;
    this.shape = shape;
  }

  async make(spec: Readonly<Record<string, unknown>> = {}): Promise<void> {
    await applyCluster(this.ref, {
      masterCount: SHARDS,
      replicasPerMaster: this.shape.replicas,
      valkeyImage: { tag: this.shape.version },
      ...spec,
    });
    await clusterReady(this.ref, { timeoutMs: 180_000 });
    await this.healthy();
  }

  members(): Promise<Member[]> {
    return membersOf(this.ref);
  }

  /** Whoever leads the shard; waits while nobody or more than one does. */
  async primary(shard: number): Promise<Member> {
    return until(`shard ${shard} has one primary`, async () => {
      const leaders = (await this.members()).filter((one) => one.shard === shard && one.role === "primary");
      return leaders.length === 1 ? leaders[0] : undefined;
    });
  }

  /** Another one than this leads its shard. */
  async replaced({ shard, pod, uid }: Member, options: UntilOptions = {}): Promise<Member> {
    return until(
      `another than ${pod} leads shard ${shard}`,
      async () => {
        const now = await this.primary(shard);
        return now.uid === uid ? undefined : now;
      },
      options,
    );
  }

  /** All members are ready, each shard has one primary that all others follow, and the status says Ready. */
  async healthy(options: UntilOptions = {}): Promise<readonly Member[]> {
    let last: readonly Member[] = [];
    const look = async () => {
      last = await this.members();
      return isWhole(last, this.shape) && holds(await clusterAt(this.ref), "Ready") && last;
    };
    try {
      return await until(`${this.ref.name} is healthy`, look, { timeoutMs: 180_000, everyMs: 200, ...options });
    } catch (error) {
      const { status } = await clusterAt(this.ref);
      throw new Error(`not healthy: ${JSON.stringify({ members: last, status }, undefined, 2)}`, { cause: error });
    }
  }

  /** The Service, which stays when all pods and addresses change, and every pod. */
  async addresses(): Promise<Address[]> {
    const { namespace, name } = this.ref;
    const service = await kubectl(["get", "service", "-n", namespace, name, "-o", "jsonpath={.spec.clusterIP}"]);
    const pods = (await this.members()).map(({ ip }) => ip).filter((ip) => ip !== "");
    return [service, ...pods].map((host) => ({ host, port: PORTS.client }));
  }

  /** What the agents said last, for whoever has to find out why something did not happen. */
  async agentLogs(): Promise<string> {
    const { namespace } = this.ref;
    const logs = (await this.members()).map(async ({ pod }) => {
      const said = kubectl(["logs", "-n", namespace, pod, "-c", "agent", "--tail=40"]);
      return `== agent of ${pod}\n${await said.catch((error: unknown) => String(error))}`;
    });
    return (await Promise.all(logs)).join("\n");
  }

  container(pod: string, container: "valkey" | "agent"): ContainerRef {
    return { namespace: this.ref.namespace, pod, container };
  }

  /**
   * Writes to all shards, lets the event happen, and writes on until all shards take writes. The event has to end when
   * its consequence is there, or the run would be over before anybody noticed it.
   */
  async writing<T>(
    event: (client: WriteClient) => Promise<T>,
    { rate = RATE }: { readonly rate?: number } = {},
  ): Promise<Written<T>> {
    const addresses = await this.addresses();
    await using client = await until("a node says who owns what", () =>
      WriteClient.start({ addresses, frontEnd: "prober", rate }),
    );
    await moreWrites(client);
    const value = await event(client);
    await until("all shards take writes", () => client.waiting < SHARDS * 2, { timeoutMs: 60_000 });
    await moreWrites(client);
    return { report: await client.stop(), value };
  }
}

export interface Written<T> {
  readonly report: Report;
  /** What the event returned. */
  readonly value: T;
}

export async function moreWrites(client: WriteClient): Promise<void> {
  const goal = client.acknowledged + ROUND;
  await until(`${ROUND} more writes`, () => client.acknowledged >= goal);
}

function isWhole(members: readonly Member[], { replicas }: Shape): boolean {
  if (members.length !== SHARDS * (1 + replicas) || !members.every(({ ready }) => ready)) return false;
  const leaders = new Set(members.filter(({ role }) => role === "primary").map(({ shard }) => shard));
  const followers = members.filter(({ following }) => following);
  return leaders.size === SHARDS && followers.length === SHARDS * replicas;
}
