/** The simulated world: pods with agents and servers, the network between them, kubelet and the operator's word. */
import type { Deployment, HandoverResult, Member } from "../plan/lease/context.ts";
import type { Role } from "../plan/lease/copy.ts";
import type { Rules } from "../plan/lease/rules.ts";
import { chooseVoters } from "../plan/lease/voters.ts";
import { AgentProcess } from "./agent.ts";
import { Events } from "./events.ts";
import { finishLeaving, trustSilence } from "./kubelet.ts";
import { Network } from "./network.ts";
import { Node, nodeName } from "./node.ts";
import { Random } from "./random.ts";
import { type DiskAfter, Server } from "./server.ts";
import { gossip, watchMajority } from "./valkey-bus.ts";
import { replicate, takeWrite } from "./valkey-replication.ts";
import { Watch } from "./watch.ts";
import { Writes } from "./writes.ts";

export interface Shape {
  readonly shards: number;
  /** Of each primary. */
  readonly replicas: number;
  /** By how much of the true time a clock may be off. */
  readonly drift: number;
  /** What a server that is killed finds on its disk afterwards. */
  readonly disk: DiskAfter;
  /** Every how many rounds of 20 ms a replica gets what its primary wrote. */
  readonly lagRounds: number;
  /** How much longer servers take to answer the bus, and their agents, because they are busy. */
  readonly busyMs: number;
  /** Whether a full sync empties the replica before the new data is there. */
  readonly flushEarly: boolean;
}

/** The agents' rules, and the operator's. */
export interface Played extends Rules {
  /** Whether the operator takes one that is not heard of for stopped. */
  readonly silenceIsProof?: boolean;
}

const SERVER_TICK_MS = 20;
const AGENT_TICK_MS = 50;
const GOSSIP_MS = 250;
const KUBELET_MS = 500;

export class World {
  readonly events = new Events();
  readonly random: Random;
  readonly network: Network;
  readonly writes = new Writes();
  readonly watch: Watch;
  readonly nodes: readonly Node[];
  readonly deployment: Deployment;
  readonly shape: Shape;
  readonly rules: Played;
  readonly trace: string[] = [];
  readonly lost = new Set<number>();
  /** Whose servers the operator says do not run. */
  readonly stopped = new Set<number>();
  /** What the operator draws: with numbers of its own, whatever it does changes nothing else. */
  readonly operator: Random;
  rounds = 0;
  readonly #byName: ReadonlyMap<string, Node>;
  readonly #traced: boolean;

  constructor(options: { seed: number; shape: Shape; rules: Played; traced: boolean }) {
    const { shape } = options;
    this.shape = shape;
    this.rules = options.rules;
    this.#traced = options.traced;
    this.random = new Random(options.seed);
    this.operator = new Random(options.seed ^ 0x0fe7a702);
    this.network = new Network(this.random);
    const count = shape.shards * (1 + shape.replicas);
    this.nodes = Array.from({ length: count }, (_, index) => this.#makeNode(index, count));
    this.#byName = new Map(this.nodes.map((node) => [node.name, node]));
    const members = this.nodes.map((node) => this.memberOf(node));
    this.deployment = { shards: shape.shards, members, voters: chooseVoters(members) };
    this.watch = new Watch(this);
    for (const node of this.nodes) this.#begin(node);
    this.events.after(SERVER_TICK_MS, () => this.#serverTick());
    if (this.rules.silenceIsProof === true) trustSilence(this);
  }

  #makeNode(index: number, count: number): Node {
    const { shards, drift } = this.shape;
    const rate = 1 - drift + (2 * drift * this.random.below(1001)) / 1000;
    const server = new Server(index, shards, count);
    server.linkUp = index >= shards;
    server.linkRun = 1;
    if (index < shards) server.role = "primary";
    return new Node({ index, shards, server, agent: new AgentProcess(rate, this.random.below(100_000)) });
  }

  /** A cluster that has been formed: its voters have seen every primary's lease, and nobody has written yet. */
  #begin(node: Node): void {
    const shards = this.deployment.voters.length === 0 ? 0 : this.shape.shards;
    node.agent.persisted = {
      leaseUntil: Number.NEGATIVE_INFINITY,
      electionUntil: undefined,
      shards: Array.from({ length: shards }, (_, shard) => ({
        memory: { epoch: shard + 1, inSync: { version: 0, members: [] } },
        holder: nodeName(shard, this.shape.shards),
        promise: false,
        grantEpoch: shard + 1,
      })),
    };
    node.agent.start(this, node);
    this.events.after(this.random.below(AGENT_TICK_MS), () => this.#agentTick(node));
    this.events.after(this.random.below(GOSSIP_MS), () => this.#gossipTick(node));
  }

  get now(): number {
    return this.events.now;
  }

  log(line: string): void {
    if (this.#traced) this.trace.push(`${String(Math.round(this.now)).padStart(7)}  ${line}`);
  }

  node(index: number): Node | undefined {
    return this.nodes[index];
  }

  named(name: string): Node | undefined {
    return this.#byName.get(name);
  }

  nameOf(index: number): string {
    return this.nodes[index]?.name ?? "?";
  }

  memberOf({ name, shard, member }: Node): Member {
    return { node: name, shard, member };
  }

  /** What the operator would say now. */
  sightings(): { readonly lost: readonly string[]; readonly stopped: readonly string[] } {
    const names = (all: ReadonlySet<number>) => [...all].map((index) => this.nameOf(index));
    return { lost: names(this.lost), stopped: names(this.stopped) };
  }

  isWritable(node: Node): boolean {
    const { server } = node;
    if (server.role !== "primary" || server.fenced || !node.serverRuns) return false;
    return server.inMajority && this.now >= server.writableFrom;
  }

  wakeAgent(node: Node, delay: number): void {
    this.events.after(delay, () => node.agent.tick(this, node));
  }

  #agentTick(node: Node): void {
    this.events.after(AGENT_TICK_MS - 5 + this.random.below(10), () => this.#agentTick(node));
    node.agent.tick(this, node);
  }

  #gossipTick(node: Node): void {
    this.events.after(GOSSIP_MS - 50 + this.random.below(100), () => this.#gossipTick(node));
    gossip(this, node);
  }

  #serverTick(): void {
    this.events.after(SERVER_TICK_MS, () => this.#serverTick());
    this.rounds += 1;
    for (const node of this.nodes) {
      if (!node.serverRuns) continue;
      if (node.server.role === "primary") {
        watchMajority(this, node);
        takeWrite(this, node);
      }
      const linkWas = node.server.linkUp;
      replicate(this, node);
      if (linkWas !== node.server.linkUp) this.wakeAgent(node, 1 + this.random.below(4));
    }
  }

  /** A server's process ends; its agent sees it at once, and kubelet starts it again. */
  endServer(node: Node, disk: DiskAfter): void {
    const { server } = node;
    if (server.phase === "down") return;
    this.log(`server of ${node.name} ends, its disk is ${disk}`);
    server.end(disk);
    this.wakeAgent(node, 1 + this.random.below(8));
    const { run } = server;
    const restart = (): void => {
      if (server.run !== run || server.phase !== "down" || node.gone || node.leaving) return;
      if (node.frozen) this.events.after(100, restart);
      else this.arriveAtGate(node);
    };
    this.events.after(KUBELET_MS, restart);
  }

  arriveAtGate(node: Node): void {
    node.server.arriveAtGate();
    this.log(`server of ${node.name} waits at the gate with ${node.server.disk.log.length} writes`);
    this.wakeAgent(node, 1 + this.random.below(4));
  }

  openGate(node: Node, role: Role, of: string | undefined): void {
    const { server, shard } = node;
    if (server.phase !== "gated") return;
    this.log(`gate of ${node.name} opens: ${role}${of === undefined ? "" : ` of ${of}`}`);
    const primary = this.named(of ?? node.name) ?? node;
    server.open(role, primary.index, this.now);
    server.owners[shard] = primary.index;
    // A replica forgets what it claimed for itself and takes the place that it is given.
    if (role === "replica") server.epochs[shard] = primary.server.epochs[shard] ?? 0;
    else this.watch.electing(node);
  }

  handoverEnded(node: Node, result: HandoverResult): void {
    this.log(`handover of ${node.name}: ${result}`);
    if (node.leaving) this.events.after(1, () => finishLeaving(this, node));
  }
}
