/** What was heard of all agents, by node. Tells its listeners what matters: counters that changed do not. */
import { type Clock, systemClock } from "../../clock/clock.ts";
import type { NodeIdentity } from "../../pki/pki.ts";
import type { NodeView } from "../../plan/formation/view.ts";
import type { NodeState } from "../../rpc/gen/valkey/agent/v1/state_pb.ts";
import { type AgentRecord, deploymentOf, isOwnName, newRecord, withoutTable } from "./agent-record.ts";
import { NodeViews, sameView } from "./node-view.ts";

export interface AgentNews {
  readonly identity: NodeIdentity;
  /** `namespace/name` */
  readonly deployment: string;
  /** What the agent called urgent. */
  readonly report?: { readonly reason: string; readonly message: string } | undefined;
}

export interface Said {
  readonly bootId: string;
  /** Absent when it is what the leader heard last. */
  readonly state?: NodeState | undefined;
  readonly report?: AgentNews["report"];
  /** Of a heartbeat: grows by one with each of this boot. */
  readonly sequence?: bigint;
}

/** An agent that nobody asks for and that says nothing for this long is forgotten. */
const FORGET_MS = 10 * 60_000;
const SWEEP_EVERY_MS = 60_000;

export class AgentMemory {
  readonly clock: Clock;
  readonly #views = new NodeViews();
  readonly #records = new Map<string, AgentRecord>();
  readonly #listeners = new Set<(news: AgentNews) => void>();
  #sweptAt: number;

  constructor(clock: Clock = systemClock) {
    this.clock = clock;
    this.#sweptAt = clock.monotonic();
  }

  get size(): number {
    return this.#records.size;
  }

  find(namespace: string, node: string): AgentRecord | undefined {
    return this.#records.get(`${namespace}/${node}`);
  }

  record(identity: NodeIdentity): AgentRecord {
    const known = this.find(identity.namespace, identity.node);
    if (known !== undefined && known.identity.name === identity.name) return known;
    const record = newRecord(identity);
    this.#records.set(`${identity.namespace}/${identity.node}`, record);
    return record;
  }

  /** Gives whether its state is known now; otherwise it has to be asked for. */
  heard(identity: NodeIdentity, said: Said): boolean {
    if (!isOwnName(identity)) return true;
    this.#sweep();
    const record = this.record(identity);
    if (said.state === undefined && record.view?.bootId !== said.bootId) return false;
    if (!isOvertaken(record, said)) this.#take(record, said);
    return true;
  }

  #take(record: AgentRecord, { state, bootId, sequence, report }: Said): void {
    const { view, known, state: before } = record;
    const news = report !== undefined || !known || !isReachable(record);
    if (state !== undefined) {
      record.view = this.#views.of(state);
      record.state = withoutTable(state);
    }
    record.sequence = { bootId, last: sequence ?? record.sequence.last };
    Object.assign(record, { heardAt: this.clock.monotonic(), known: true, misses: 0, failedAt: undefined, why: "" });
    const changed = !isSame(view, record.view);
    if (changed) Object.assign(record, { settlesUntil: -Infinity, changedAt: record.heardAt });
    if (news || changed || !sameTroubles(before, record.state)) this.#tell(record, report);
  }

  /** It was asked and did not answer. */
  missed(record: AgentRecord, why: string): void {
    const news = isReachable(record) || !record.known || record.why !== why;
    Object.assign(record, { failedAt: this.clock.monotonic(), why, known: true, misses: record.misses + 1 });
    if (news) this.#tell(record);
  }

  /** What was said by an earlier pod says nothing of this one. */
  podIs(record: AgentRecord, podUid: string): void {
    if (record.podUid === podUid) return;
    const changed = record.podUid !== undefined;
    record.podUid = podUid;
    if (changed) Object.assign(record, { ...newRecord(record.identity), podUid });
  }

  /** A new leader believes nothing that it has not heard since. */
  newTerm(): void {
    for (const record of this.#records.values()) {
      Object.assign(record, { known: false, misses: 0, askAt: -Infinity, given: undefined, failure: undefined });
    }
  }

  /** Of this deployment only these nodes are left. */
  keep(deployment: string, nodes: ReadonlySet<string>): void {
    for (const [key, { identity }] of this.#records) {
      if (deploymentOf(identity) === deployment && !nodes.has(identity.node)) this.#records.delete(key);
    }
  }

  tell(record: AgentRecord): void {
    this.#tell(record);
  }

  /** The function returned ends it. */
  subscribe(listener: (news: AgentNews) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #tell({ identity }: AgentRecord, report?: AgentNews["report"]): void {
    for (const listener of this.#listeners) listener({ identity, deployment: deploymentOf(identity), report });
  }

  #sweep(): void {
    const now = this.clock.monotonic();
    if (now - this.#sweptAt < SWEEP_EVERY_MS) return;
    this.#sweptAt = now;
    for (const [key, { heardAt, askAt }] of this.#records) {
      if (now - Math.max(heardAt, askAt) > FORGET_MS) this.#records.delete(key);
    }
  }
}

/** An older heartbeat that came later tells nothing. */
function isOvertaken({ sequence }: AgentRecord, said: Said): boolean {
  return said.sequence !== undefined && sequence.bootId === said.bootId && said.sequence <= sequence.last;
}

/** Nothing is planned on them, and people want to know. */
function sameTroubles(before: NodeState | undefined, after: NodeState | undefined): boolean {
  return Bun.deepEquals(before?.troubles ?? [], after?.troubles ?? []);
}

function isSame(before: NodeView | undefined, after: NodeView | undefined): boolean {
  return before !== undefined && after !== undefined && sameView(before, after);
}

export function isReachable({ view, failedAt }: AgentRecord): boolean {
  return view !== undefined && failedAt === undefined;
}
