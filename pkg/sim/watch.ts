/** The invariants, checked as things happen against what is true, not against what anybody believes. */
import { type AgentState, holdsOf } from "../plan/lease/agent-core.ts";
import type { HolderState } from "../plan/lease/holder.ts";
import type { InSyncMember } from "../plan/lease/memory.ts";
import { TIMING } from "../plan/lease/timing.ts";
import type { Node } from "./node.ts";
import type { World } from "./world.ts";
import { sharedLength } from "./writes.ts";

export interface Violation {
  readonly name: string;
  readonly at: number;
  readonly what: string;
}

/** How long before a crash a write may have been acknowledged that no replica has: replication is asynchronous. */
const REPLICATION_LAG_MS = 120;
/** For a fault to be noticed by a tick and a command to be carried out. */
const SLACK_MS = 150;
const JUST_NOW_MS = 1500;
/** What is promised, whatever the rules that are played say. */
const LEASE_MS = TIMING.leaseMs;
const NODE_TIMEOUT_MS = TIMING.nodeTimeoutMs;

export class Watch {
  readonly violations: Violation[] = [];
  /** Writes that were acknowledged and thrown away within what is promised. */
  lostWithinPromise = 0;
  readonly #world: World;
  /** When something broke: from then on, for the length of a lease, what was acknowledged may be lost. */
  readonly #faults: { from: number; to: number }[] = [];
  /** The in-sync set of each shard that a majority last granted a lease with. */
  readonly #granted = new Map<number, readonly InSyncMember[]>();
  /** How much each member of that set had when the last election was begun: all of it must be kept. */
  readonly #atElection = new Map<number, number>();
  /** How much the copy had that last won an election of the shard, until somebody gets a lease: more is lost already. */
  readonly #won = new Map<number, number>();

  constructor(world: World) {
    this.#world = world;
  }

  violate(name: string, what: string): void {
    if (this.violations.some((violation) => violation.name === name)) return;
    this.violations.push({ name, at: this.#world.now, what });
    this.#world.log(`VIOLATION ${name}: ${what}`);
  }

  fault(from: number, to = from): void {
    this.#faults.push({ from, to });
  }

  /** A lease was extended: what its round said of the in-sync set is what voters know now. */
  leased(node: Node, before: HolderState, after: HolderState): void {
    if (after.leaseUntil <= before.leaseUntil || !Number.isFinite(after.leaseUntil)) return;
    const needed = this.#world.rules.majority(this.#world.deployment.voters.length);
    const round = after.rounds.findLast(({ grantedBy }) => grantedBy.length >= needed);
    if (round === undefined) return;
    this.#granted.set(node.shard, round.inSync.members);
    this.#won.delete(node.shard);
  }

  /** What others have beyond this copy came too late: its primary was replaced before they had it. */
  won({ shard, server }: Node): void {
    this.#won.set(shard, Math.min(server.log.length, this.#won.get(shard) ?? Number.POSITIVE_INFINITY));
  }

  /** An election is begun, or a server is let in to lead. */
  electing({ shard }: Node): void {
    const members = this.#granted.get(shard) ?? [];
    for (const node of this.#world.nodes) {
      if (node.shard !== shard) continue;
      const inSync = members.some(({ node: name, run }) => name === node.name && run === `${name}@${node.server.run}`);
      const most = Math.min(node.server.log.length, this.#won.get(shard) ?? Number.POSITIVE_INFINITY);
      this.#atElection.set(node.index, inSync && node.server.phase === "running" ? most : 0);
    }
  }

  /** An epoch that nobody voted for may be used twice: it is for when too few primaries run to vote, wherever they are. */
  takingOver(node: Node): void {
    const { nodes, shape, now } = this.#world;
    const voters = nodes.filter(({ gone, index, shard, server }) => {
      if (gone || server.phase !== "running" || server.role !== "primary") return false;
      // One that has only just begun to lead cannot be known of.
      return server.owners[shard] === index && now - server.leadsSince > JUST_NOW_MS;
    });
    if (new Set(voters.map(({ shard }) => shard)).size <= shape.shards / 2) return;
    this.violate("takeover-beside-voters", `${node.name} takes over, and ${voters.map(({ name }) => name).join()} run`);
  }

  /** Never two writable primaries of a shard. */
  checkWriters(): void {
    let seen = 0;
    for (const node of this.#world.nodes) {
      if (!this.#world.isWritable(node)) continue;
      const bit = 1 << node.shard;
      if ((seen & bit) !== 0) this.#overlap(node.shard);
      seen |= bit;
    }
  }

  #overlap(shard: number): void {
    const writers = this.#world.nodes.filter((node) => node.shard === shard && this.#world.isWritable(node));
    // A machine that thaws runs for an instant before its agent can fence.
    if (writers.some(({ thawedAt }) => this.#world.now - thawedAt < SLACK_MS)) return;
    // Nobody can fence a server whose agent dies after both were cut off; it stops after the node timeout.
    if (writers.some((node) => this.#nobodyCouldFence(node))) return;
    this.violate("two-writers", `${writers.map(({ name }) => name).join(" and ")} take writes`);
  }

  #nobodyCouldFence({ agent, agentDiedCutOff, agentBackAt }: Node): boolean {
    return agentDiedCutOff && (!agent.up || this.#world.now - agentBackAt < SLACK_MS);
  }

  /** A replica throws its data away for what its primary has. */
  discarding(node: Node, primary: Node): void {
    const { log } = node.server;
    const shared = sharedLength(log, primary.server.log);
    if (shared === log.length) return;
    const lost = log.slice(shared);
    const what = `${node.name} throws away ${lost.length} writes for the ${primary.server.log.length} of ${primary.name}`;
    this.#world.log(what);
    if (primary.server.log.length === 0) this.violate("empty-source", what);
    if (primary.server.dataEpoch < node.server.dataEpoch) this.violate("older-source", what);
    const mustKeep = this.#atElection.get(node.index) ?? 0;
    for (const [index, id] of lost.entries()) this.#lose(node, id, shared + index < mustKeep);
  }

  #lose(node: Node, id: number, inSync: boolean): void {
    const { writes } = this.#world;
    const at = writes.at[id] ?? 0;
    const by = this.#world.nameOf(writes.node[id] ?? -1);
    const what = `write ${id}, acknowledged by ${by} at ${Math.round(at)}, was thrown away by ${node.name}`;
    if (writes.waited[id] === true) this.violate("waited-write-lost", what);
    else if (inSync && writes.node[id] !== node.index) this.violate("in-sync-write-lost", what);
    else if (!this.#excused(at, this.#fencedWithin(id))) this.violate("old-write-lost", what);
    else this.lostWithinPromise += 1;
  }

  /** Within a lease its agent fences a server that is cut off; without an agent it stops after the node timeout. */
  #fencedWithin(id: number): number {
    return this.#world.writes.guarded[id] === true ? LEASE_MS : NODE_TIMEOUT_MS;
  }

  #excused(at: number, fencedWithin: number): boolean {
    const lag = REPLICATION_LAG_MS + 20 * this.#world.shape.lagRounds;
    return this.#faults.some(({ from, to }) => at >= from - lag && at <= to + fencedWithin + SLACK_MS);
  }

  /** At the end, when all faults are over. */
  checkEnd(): void {
    const { nodes, shape } = this.#world;
    for (let shard = 0; shard < shape.shards; shard += 1) {
      const members = nodes.filter((node) => node.shard === shard);
      if (!members.some((node) => this.#world.isWritable(node))) {
        this.violate("not-writable", `shard ${shard}: ${members.map((node) => this.describe(node)).join("; ")}`);
      }
    }
  }

  describe(node: Node): string {
    const { server, agent } = node;
    const holds = agent.state === undefined ? "no agent" : describeHolds(agent.state);
    const place = node.gone ? "gone" : server.phase;
    const table = `epoch ${server.epochs[node.shard]} of ${this.#world.nameOf(server.owners[node.shard] ?? -1)}`;
    const flags = `${server.fenced ? "fenced " : ""}${server.inMajority ? "" : "minority "}${server.linkUp ? "linked" : ""}`;
    return `${node.name} ${place} ${server.role} ${table} ${server.log.length}/${server.disk.log.length} ${flags} [${holds}]`;
  }
}

function describeHolds(state: AgentState): string {
  return holdsOf(state)
    .map(({ name, reason }) => `${name}: ${reason}`)
    .join(", ");
}
