/**
 * What the operator hears of agents, and asks of them. Every replica listens; the one that leads also asks and commands.
 *
 * Nothing here waits for a stuck agent: it is asked by itself, with a short deadline, less and less often while it does
 * not answer; a command that takes long goes on while others are planned.
 */
import type { Client } from "@connectrpc/connect";
import { type Clock, systemClock } from "../../clock/clock.ts";
import type { Running } from "../../kube/controller.ts";
import type { Term } from "../../kube/lease-term.ts";
import type { Logger } from "../../log/log.ts";
import type { NodeIdentity } from "../../pki/pki.ts";
import type { Contact, Met, Pushed } from "../../plan/formation/view.ts";
import { PARENT_KIND, PORTS, TRUST_DOMAIN } from "../../plan/objects/names.ts";
import type { RpcClients } from "../../rpc/clients.ts";
import type { AgentService } from "../../rpc/gen/valkey/agent/v1/agent_pb.ts";
import type { NodeState } from "../../rpc/gen/valkey/agent/v1/state_pb.ts";
import type { AgentReports } from "../node/agent-reports.ts";
import { AgentMemory, type AgentNews, type Said } from "./agent-memory.ts";
import type { AgentRecord, Failure, Given } from "./agent-record.ts";
import { AgentWatch } from "./agent-watch.ts";

/** An agent as its pod shows where it is. */
export interface AgentTarget {
  readonly namespace: string;
  /** Name of the deployment. */
  readonly cluster: string;
  readonly node: string;
  readonly ip: string;
  readonly podUid: string;
}

export interface AgentHubOptions {
  readonly log: Logger;
  readonly clock?: Clock;
  /** Where agents listen. Defaults to their port. */
  readonly agentPort?: number;
}

export type AgentClient = Client<typeof AgentService>;

export interface CallLimits {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

export interface Command {
  readonly step: string;
  readonly timeoutMs: number;
  readonly send: (client: AgentClient, limits: CallLimits) => Promise<unknown>;
  /** Noted when it succeeded. */
  readonly given?: Omit<Given, "at"> | undefined;
  /** How long the agent is left alone at least when it failed. */
  readonly pauseMs?: number | undefined;
  /** Nodes that its server is introduced to. */
  readonly meets?: readonly string[] | undefined;
}

/** What is known of an agent at this moment. */
export interface AgentSight {
  readonly contact: Contact;
  readonly state: NodeState | undefined;
  readonly busy: string | undefined;
  /** Nodes that its server was introduced to in the last seconds. */
  readonly met: readonly Met[];
  readonly failure: Failure | undefined;
  readonly pushed: Pushed | undefined;
  /** When it was last heard of, if it does not answer now. */
  readonly silentSince: Date | undefined;
}

/** A command that takes longer goes on by itself. */
const PATIENCE_MS = 400;
/** How long a command may take to show in what the agent says. */
const SETTLE_MS = 400;
const MET_KEPT_MS = 2000;
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 5000;

export class AgentHub {
  readonly name = "agents";
  readonly #log: Logger;
  readonly #clock: Clock;
  readonly #port: number;
  readonly #memory: AgentMemory;
  readonly #watch: AgentWatch;
  #clients: RpcClients | undefined;
  #term: Term | undefined;

  constructor({ log, clock = systemClock, agentPort = PORTS.agent }: AgentHubOptions) {
    this.#log = log;
    this.#clock = clock;
    this.#port = agentPort;
    this.#memory = new AgentMemory(clock);
    this.#watch = new AgentWatch({
      clock,
      record: (target) => this.#recordOf(target),
      ask: async (target) => this.#ask(target),
    });
  }

  /** Whether this replica leads. */
  get leading(): boolean {
    return this.#term?.valid() === true;
  }

  /** For the header of commands; undefined while this replica does not lead. */
  get fencingToken(): number | undefined {
    return this.leading ? this.#term?.token : undefined;
  }

  /** How many agents are remembered. */
  get size(): number {
    return this.#memory.size;
  }

  /** As soon as the operator has an identity. */
  use(clients: RpcClients): void {
    this.#clients = clients;
  }

  start(term: Term): Running {
    this.#term = term;
    this.#memory.newTerm();
    return {
      wake: () => {},
      stop: async () => {
        this.#term = undefined;
        this.#watch.stop();
        return [];
      },
    };
  }

  /** A heartbeat or a report. Gives whether the node's state is known now. */
  heard(identity: NodeIdentity, said: Said): boolean {
    if (identity.kind !== PARENT_KIND) return true;
    return this.#memory.heard(identity, said);
  }

  /** Every change of what matters, every report. */
  subscribe(listener: (news: AgentNews) => void): () => void {
    return this.#memory.subscribe(listener);
  }

  /** For controllers that show what agents say. */
  get reports(): AgentReports {
    return {
      stateOf: (namespace, node) => this.stateOf(namespace, node),
      subscribe: (on) => this.subscribe(({ identity }) => on(identity.namespace, identity.node)),
    };
  }

  stateOf(namespace: string, node: string): NodeState | undefined {
    return this.#memory.find(namespace, node)?.state;
  }

  sight(target: AgentTarget): AgentSight {
    const record = this.#recordOf(target);
    const now = this.#clock.monotonic();
    const { busy, failure, given, state } = record;
    const resting = failure !== undefined && failure.until > now ? failure.step : undefined;
    const settling = record.settlesUntil > now ? record.lastStep : undefined;
    return {
      contact: contactOf(record, now),
      state,
      busy: busy ?? resting ?? settling,
      met: [...record.met].map(([node, at]) => ({ node, msAgo: now - at })),
      failure,
      pushed: given === undefined ? undefined : { ...given, ageMs: now - given.at },
      silentSince: this.#silentSince(record, now),
    };
  }

  /** These are the agents of a deployment now; `closely` while something is on its way that no report tells. */
  watch(deployment: string, targets: readonly AgentTarget[], closely: boolean): void {
    this.#memory.keep(deployment, new Set(targets.map(({ node }) => node)));
    this.#watch.set(deployment, targets, closely);
  }

  /** The deployment is gone. */
  forget(deployment: string): void {
    this.#memory.keep(deployment, new Set());
    this.#watch.delete(deployment);
  }

  /**
   * Sends a command and waits a little for it. What comes of it is seen in the agent's next answer; what failed is kept
   * for the status, and the agent is left alone for a growing while.
   */
  async command(target: AgentTarget, command: Command): Promise<void> {
    const record = this.#recordOf(target);
    if (record.busy !== undefined) return;
    record.busy = command.step;
    const done = this.#send(target, record, command);
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = this.#clock.after(PATIENCE_MS, resolve);
    await Promise.race([done, promise]);
    cancel();
  }

  /** A call to an agent outside of planning; rejects as the call does. */
  async call<T>(target: AgentTarget, timeoutMs: number, send: Call<T>, signal?: AbortSignal): Promise<T> {
    return send(this.#client(target), { timeoutMs, signal: this.#signal(signal) });
  }

  /** Never rejects. */
  async #send(target: AgentTarget, record: AgentRecord, command: Command): Promise<void> {
    const { step, timeoutMs, send, given } = command;
    try {
      if (this.#term === undefined) throw new Error("this replica does not lead");
      this.#term.check();
      this.#noteMeeting(record, command);
      await send(this.#client(target), { timeoutMs, signal: this.#signal() });
      record.failure = undefined;
      record.lastStep = step;
      this.#noteMeeting(record, command);
      // Configuration is remembered as given; everything else has to be seen.
      if (given === undefined) record.settlesUntil = this.#clock.monotonic() + SETTLE_MS;
      if (given !== undefined) record.given = { ...given, at: this.#clock.monotonic() };
    } catch (error) {
      this.#failed(record, command, error);
    }
    await this.#ask(target);
    record.busy = undefined;
    this.#memory.tell(record);
  }

  #noteMeeting(record: AgentRecord, { meets = [] }: Command): void {
    if (meets.length === 0) return;
    const now = this.#clock.monotonic();
    const recent = [...record.met].filter(([, at]) => now - at < MET_KEPT_MS);
    record.met = new Map([...recent, ...meets.map((node) => [node, now] as const)]);
  }

  #failed(record: AgentRecord, { step, pauseMs = 0 }: Command, error: unknown): void {
    const times = record.failure?.step === step ? record.failure.times + 1 : 1;
    const pause = Math.max(pauseMs, Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(times - 1, 10)));
    const message = error instanceof Error ? error.message : String(error);
    record.failure = { step, message, times, until: this.#clock.monotonic() + pause };
    const { namespace, node } = record.identity;
    this.#log.warn(
      { agent: `${namespace}/${node}`, step, err: error, times, pause },
      "an agent did not take a command",
    );
  }

  /** Never rejects. */
  async #ask(target: AgentTarget): Promise<void> {
    const record = this.#recordOf(target);
    if (record.asking) return;
    record.asking = true;
    record.askAt = this.#clock.monotonic();
    const timeoutMs = record.misses === 0 ? ASK_MS : ASK_AGAIN_MS;
    try {
      const { state } = await this.#client(target).getState({}, { timeoutMs, signal: this.#signal() });
      if (state === undefined) throw new Error("its answer was empty");
      this.#memory.heard(record.identity, { bootId: state.bootId, state });
    } catch (error) {
      if (this.leading) this.#memory.missed(record, error instanceof Error ? error.message : String(error));
    } finally {
      record.asking = false;
    }
  }

  #silentSince({ failedAt, heardAt }: AgentRecord, now: number): Date | undefined {
    if (failedAt === undefined || heardAt === -Infinity) return undefined;
    return new Date(this.#clock.wall() - (now - heardAt));
  }

  #recordOf(target: AgentTarget): AgentRecord {
    const record = this.#memory.record(identityOf(target));
    this.#memory.podIs(record, target.podUid);
    return record;
  }

  #client(target: AgentTarget): AgentClient {
    if (this.#clients === undefined) throw new Error("the operator has no certificate of its own yet");
    return this.#clients.agent({ host: target.ip, port: this.#port }, identityOf(target));
  }

  #signal(signal?: AbortSignal): AbortSignal {
    const signals = [this.#term?.signal, signal].filter((each) => each !== undefined);
    return AbortSignal.any(signals);
  }
}

type Call<T> = (client: AgentClient, limits: CallLimits) => Promise<T>;

const ASK_MS = 3000;
/** A handshake under load takes its time; one that is cut off has to begin anew. Who was missed is known to be. */
const ASK_AGAIN_MS = 10_000;

export function identityOf({ namespace, cluster, node }: AgentTarget): NodeIdentity {
  return { role: "node", trustDomain: TRUST_DOMAIN, namespace, kind: PARENT_KIND, name: cluster, node };
}

function contactOf(record: AgentRecord, now: number): Contact {
  if (!record.known) return { known: "not-asked" };
  if (record.view === undefined || record.failedAt !== undefined) return { known: "unreachable", why: record.why };
  const { view: state, heardAt, changedAt } = record;
  return { known: "answer", state, ageMs: now - heardAt, steadyMs: now - changedAt };
}
