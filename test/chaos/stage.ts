/** Where chaos takes place: the lab, one cluster, and a witness on every node that follows its pods around. */
import { kubectl } from "../e2e/cluster.ts";
import type { HealCluster } from "../e2e/heal-cluster.ts";
import { type Member, witnessed } from "../e2e/heal-members.ts";
import { nodeNamed } from "../lab/faults.ts";
import type { Lab } from "../lab/lab.ts";
import { SHARDS } from "../lib/losses.ts";
import type { Acknowledgement } from "../lib/witness/acknowledgement.ts";
import { Witness } from "../lib/witness/witness.ts";
import { CopyWatch } from "./copy-watch.ts";

const LOOK_EVERY_MS = 500;

export class Stage implements AsyncDisposable {
  readonly lab: Lab;
  readonly cluster: HealCluster;
  readonly copies = new CopyWatch();
  readonly #witnesses = new Map<string, Witness>();
  readonly #ended: Acknowledgement[] = [];
  readonly #over = new AbortController();
  readonly #following: Promise<void>;

  constructor(lab: Lab, cluster: HealCluster) {
    this.lab = lab;
    this.cluster = cluster;
    for (const { index } of lab.nodes) this.returned(`node${index}`);
    this.#following = this.#follow();
  }

  /** A node has a network again: whoever looked at the old one sees nothing any more. */
  returned(node: string): void {
    this.#witnesses.set(node, Witness.on(nodeNamed(this.lab, node).name));
  }

  /** A node's network is about to go. */
  async leaves(node: string): Promise<void> {
    const witness = this.#witnesses.get(node);
    this.#witnesses.delete(node);
    this.#ended.push(...((await witness?.stop()) ?? []));
  }

  /** Deletes a pod of which nobody may say later that it was taken by the operator. */
  async deletePod(member: Member, ...flags: readonly string[]): Promise<void> {
    this.copies.ours(member.uid);
    await kubectl(["delete", "pod", "-n", this.cluster.ref.namespace, member.pod, ...flags]);
  }

  /** Ends it and tells every write that was acknowledged to a witness. */
  async stop(): Promise<readonly Acknowledgement[]> {
    this.#over.abort();
    await this.#following;
    for (const node of this.#witnesses.keys()) await this.leaves(node);
    return this.#ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort();
    await this.#following;
    for (const witness of this.#witnesses.values()) await witness[Symbol.asyncDispose]();
  }

  async #follow(): Promise<void> {
    while (!this.#over.signal.aborted) {
      // The API server may be away: what was known a moment ago still holds for who is watched.
      const members = await this.cluster.members().catch(() => undefined);
      if (members !== undefined) {
        this.copies.look(members);
        await this.#watch(members);
      }
      await Bun.sleep(LOOK_EVERY_MS);
    }
  }

  async #watch(members: readonly Member[]): Promise<void> {
    const servers = witnessed(members, SHARDS);
    const nodeOf = new Map(members.map(({ pod, node }) => [pod, node]));
    for (const [node, witness] of this.#witnesses)
      await witness.watch(servers.filter(({ pod }) => nodeOf.get(pod) === node));
  }
}
