/**
 * Runs the rules of the write lease (pkg/plan/lease) for this agent: feeds them with what it sees and hears, and carries
 * out what they say. Everything is decided there; here nothing is but when to look and how soon.
 */
import { Code, ConnectError } from "@connectrpc/connect";
import type { Clock } from "../../clock/clock.ts";
import { Wakeup } from "../../clock/wakeup.ts";
import type { Logger } from "../../log/log.ts";
import { type AgentState, bornAgent, contextOf, holdsOf, type Input, step } from "../../plan/lease/agent-core.ts";
import type { Output, Persisted } from "../../plan/lease/context.ts";
import type { Hold } from "../../plan/lease/demand.ts";
import { writesWait } from "../../plan/lease/handover.ts";
import { holdsLease, nextRenewal } from "../../plan/lease/holder.ts";
import type { Message, Question, Reply } from "../../plan/lease/message.ts";
import type { Configuration } from "../../rpc/gen/valkey/agent/v1/configuration_pb.ts";
import { isDiskFull } from "../files.ts";
import type { Addresses } from "./addresses.ts";
import { type Place, placeOf } from "./deployment.ts";
import type { Era, Eras } from "./eras.ts";
import { type Handover, Handovers } from "./handovers.ts";
import { HoldLog } from "./hold-log.ts";
import type { Kept, KeptFile } from "./kept.ts";
import { type Control, isAtRest, isControl, isIdleReplica, isNew, isQuestion, moved } from "./lease-state.ts";
import type { OwnServer } from "./own-server.ts";
import type { Post } from "./post.ts";
import { eraOf, type Sender, sameSender } from "./wire.ts";
import type { Heard } from "./wire-stream.ts";

/** As what a server passes the gate. */
export interface Opening {
  readonly as: "primary" | "replica";
  /** Of the primary that it begins as a replica of. */
  readonly primaryId: string | undefined;
  /** Whether that one leads, and has at least as much as this node's disk. */
  readonly led: boolean;
  readonly why: string;
}

export interface LeaseDriverOptions {
  readonly node: string;
  readonly bootId: string;
  readonly clock: Clock;
  readonly bootTime: () => number;
  readonly log: Logger;
  readonly configuration: () => Configuration | undefined;
  readonly kept: Kept;
  readonly keptFile: Pick<KeptFile, "write">;
  readonly server: OwnServer;
  readonly eras: Eras;
  readonly addresses: Addresses;
  readonly post: Post;
  readonly podIp: string;
  /** Saves and ends the server; the gate decides what comes then. */
  readonly stop: () => Promise<void>;
  readonly tell: (reason: "Promoting" | "WritesStopped" | "ServerKilled" | "HandoverEnded", message: string) => void;
}

/** While all is well: as often as a lease is renewed. What is new of the server or from others is decided on at once. */
const TICK_MS = 500;
const SOON_MS = 100;
const URGENT_MS = 10;
const LOOK_MS = 300;
/** For how long the server is looked at closely after news of its primary. */
const SHAKEN_MS = 500;
/** A successor that was given the lease leads within a fraction of this. */
const LATE_MS = 500;
/**
 * For how long writes wait at a primary that has lost its lease, before they are refused. In that time the lease is back,
 * if only the machine was busy, or somebody else leads, to whom clients are then sent.
 */
const LAPSE_MS = 2000;
/** For how long a new agent waits for the first word of a server that it finds running. */
const FIRST_LOOK_MS = 1000;

export class LeaseDriver {
  readonly #options: LeaseDriverOptions;
  readonly #wake = new Wakeup();
  readonly #handovers = new Handovers();
  readonly #holdLog: HoldLog;
  #place: { readonly of: Configuration; readonly place: Place | undefined } | undefined;
  #state: AgentState | undefined;
  #said: Pick<Input & { readonly kind: "sightings" }, "lost" | "stopped"> = { lost: [], stopped: [] };
  #poked = false;
  #signal: AbortSignal = AbortSignal.abort();
  #shakenUntil = Number.NEGATIVE_INFINITY;
  #primaryEra: Era | undefined;
  #opening: Opening | undefined;
  #sender: Sender | undefined;
  #stopping = false;
  #persisted: Persisted | undefined;
  readonly #madeAt: number;
  /** Undefined while this node holds the lease; for ever while its server never did. */
  #lapsedSince: number | undefined = Number.NEGATIVE_INFINITY;

  constructor(options: LeaseDriverOptions) {
    this.#options = options;
    this.#persisted = options.kept.lease;
    this.#madeAt = options.clock.monotonic();
    this.#holdLog = new HoldLog(options.log);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, server } = this.#options;
    this.#signal = signal;
    while (!signal.aborted) {
      this.#poked = false;
      if (this.#urgent) await server.refresh(AbortSignal.any([signal, AbortSignal.timeout(LOOK_MS)]));
      this.#tick();
      await this.#rest(clock, signal);
    }
  }

  /** Until the next turn; a renewal that too few have granted by then is repeated earlier. */
  async #rest(clock: Clock, signal: AbortSignal): Promise<void> {
    const { bootTime } = this.#options;
    const until = bootTime() + this.#restMs();
    const dueMs = () => Math.min(until, this.#renewalAt(bootTime())) - bootTime();
    do await this.#wake.wait(clock, Math.max(1, dueMs()), signal, () => this.#poked);
    while (!this.#poked && !signal.aborted && dueMs() > 0);
  }

  #renewalAt(now: number): number {
    const state = this.#state;
    const holds = state !== undefined && state.holder.leaseUntil > now;
    return holds ? nextRenewal(contextOf(state, this.#rules, now), state.holder) : Number.POSITIVE_INFINITY;
  }

  /** The server or what is wanted has changed: decide at once. */
  poke(): void {
    this.#poked = true;
    this.#wake.notify();
  }

  /** The process of the server is gone: said at once, not at the next turn. */
  serverEnded(): void {
    this.#options.server.ended();
    this.#opening = undefined;
    this.#lapsedSince = Number.NEGATIVE_INFINITY;
    this.#tick();
  }

  /** What the operator says of members that do not answer; said again, it is said of now. */
  sighted(lost: readonly string[], stopped: readonly string[]): void {
    this.#said = { lost, stopped };
    this.#feed({ kind: "sightings", ...this.#said });
    this.poke();
  }

  /** The agent of another node closed its connections. */
  agentGone(node: string): void {
    this.#feed({ kind: "agent-gone", node });
    if (this.#isOfOwnShard(node)) this.#shake();
  }

  /** Why nothing moves. */
  get holds(): readonly Hold[] {
    return this.#state === undefined ? [] : holdsOf(this.#state);
  }

  /** Whether this agent has a vote and does not know yet what was granted before it. */
  get learning(): boolean {
    if (this.#state === undefined) return true;
    const { voter, deployment } = this.#state;
    return !voter.remembers && deployment.voters.includes(this.#options.node);
  }

  /** The highest that is remembered of a lease of any shard: below it nobody gets one. */
  get knownEpoch(): number {
    return Math.max(0, ...(this.#state?.voter.shards ?? []).map(({ memory }) => memory.epoch));
  }

  /** For how long this node's server has been without the lease. */
  get noLeaseMs(): number {
    return this.#lapsedSince === undefined ? 0 : this.#options.clock.monotonic() - this.#lapsedSince;
  }

  /** As what the server that waits may pass the gate; undefined as long as it may not. */
  get opening(): Opening | undefined {
    return this.#opening;
  }

  /** The opening was used, or could not be: the next one is decided anew. */
  takeOpening(): void {
    this.#opening = undefined;
  }

  /** What the gate waits for, in plain words. */
  get gateWaitsFor(): string {
    if (this.#state === undefined) return `no configuration names ${this.#options.node} yet`;
    return this.#state.gate.hold?.reason ?? "not decided yet";
  }

  /** The pod goes: the primary's role is handed over first. */
  async leave(signal: AbortSignal): Promise<Handover> {
    return this.#handovers.next(() => this.#begin({ kind: "leave" }), signal);
  }

  async handOver(to: string | undefined, signal: AbortSignal): Promise<Handover> {
    return this.#handovers.next(() => this.#begin({ kind: "hand-over", to }), signal);
  }

  /** The answer to another agent, whose name its certificate proves; undefined when there is nothing to say. */
  async answer(
    { envelope, message }: Heard<Question>,
    caller: string,
    signal: AbortSignal,
  ): Promise<Reply | undefined> {
    const { node, server } = this.#options;
    if (message === undefined || envelope === undefined) return undefined;
    if (message.from !== caller) {
      throw new ConnectError(`${caller} cannot speak for ${message.from}`, Code.PermissionDenied);
    }
    if (message.to !== node) throw new ConnectError(`this is ${node}, not ${message.to}`, Code.FailedPrecondition);
    this.heard(envelope, message);
    if (this.#state === undefined) return undefined;
    if (message.kind === "ask-standing" || message.kind === "release") {
      const known = await server.refresh(AbortSignal.any([signal, AbortSignal.timeout(LOOK_MS)]));
      // What it holds is not known: it has not spoken.
      if (!known && message.kind === "ask-standing") return undefined;
      this.#tick();
    }
    const replies = this.#feed({ kind: "message", message });
    return replies.find(({ to, seq }) => to === message.from && seq === message.seq);
  }

  /** Notes down who is where, and in which stream the shard's primary writes. */
  heard(envelope: NonNullable<Heard<Message>["envelope"]>, question?: Question): void {
    const { addresses } = this.#options;
    const { from, nodeId, ip } = envelope;
    if (addresses.hear(from, { nodeId, ip })) this.#keep();
    if (question === undefined || !this.#isOfOwnShard(from)) return;
    if (question.kind === "renew" && envelope.dataEpoch > 0n) this.#primaryEra = eraOf(envelope);
    if (question.kind === "release") this.#shake();
  }

  /** The same object for as long as nothing of it changes. */
  sender(): Sender {
    const { server, podIp } = this.#options;
    const { nodeId, era } = server;
    const next = { nodeId, ip: podIp, era };
    if (this.#sender === undefined || !sameSender(this.#sender, next)) this.#sender = next;
    return this.#sender;
  }

  /** Until the next turn: in time for a lease that ends, and soon while nobody leads or something is under way. */
  #restMs(): number {
    const state = this.#state;
    if (state === undefined) return SOON_MS;
    if (this.#urgent) return URGENT_MS;
    const leftMs = state.holder.leaseUntil - this.#options.bootTime();
    if (leftMs > 0) return Math.max(1, Math.min(TICK_MS, leftMs));
    return state.server.role === "replica" && state.server.linkUp ? TICK_MS : SOON_MS;
  }

  /** Whether something is under way in which every millisecond counts for clients. */
  get #urgent(): boolean {
    if (this.#state === undefined) return false;
    const { handover, candidate, server } = this.#state;
    if (handover.stage !== "none") return true;
    const { clock, bootTime } = this.#options;
    if (server.role !== "replica") return false;
    const { failoverTimeoutMs } = this.#rules.timing;
    const electing = candidate.begunAt !== undefined && bootTime() - candidate.begunAt < failoverTimeoutMs;
    return electing || candidate.handed !== undefined || clock.monotonic() < this.#shakenUntil;
  }

  get #rules() {
    const place = this.#placeNow();
    if (place === undefined) throw new Error("there are no rules without a place in the deployment");
    return place.rules;
  }

  #begin(input: Input): void {
    if (this.#state === undefined) {
      this.#handovers.ended("not-primary", this.#options.clock.monotonic());
      return;
    }
    this.#feed(input);
    this.poke();
  }

  #shake(): void {
    this.#shakenUntil = this.#options.clock.monotonic() + SHAKEN_MS;
    this.poke();
  }

  #isOfOwnShard(node: string): boolean {
    const place = this.#placeNow();
    return (
      place?.deployment.members.some((member) => member.node === node && member.shard === place.self.shard) === true
    );
  }

  #placeNow(): Place | undefined {
    const configuration = this.#options.configuration();
    if (configuration === undefined) return undefined;
    if (this.#place?.of !== configuration) {
      this.#place = { of: configuration, place: placeOf(configuration, this.#options.node) };
    }
    return this.#place.place;
  }

  #tick(): void {
    const place = this.#placeNow();
    if (place === undefined) return;
    const sight = this.#options.server.sight(place.deployment.shards);
    if (sight === undefined || this.#tooEarly(sight)) return;
    if (this.#state === undefined) this.#beBorn(place, sight);
    else if (this.#state.deployment !== place.deployment) this.#state = moved(this.#state, place);
    this.#feed({ kind: "tick", server: sight });
    this.#afterTick();
  }

  /** A lease that is found again is its server's: what that is has to be seen first. */
  #tooEarly({ phase }: AgentState["server"]): boolean {
    const { server, clock } = this.#options;
    if (this.#state !== undefined || phase !== "loading" || server.look !== undefined) return false;
    return clock.monotonic() - this.#madeAt < FIRST_LOOK_MS;
  }

  #beBorn({ self, deployment }: Place, server: AgentState["server"]): void {
    const { bootId, bootTime, kept, log, clock } = this.#options;
    const persisted = kept.lease?.shards.length === deployment.shards ? kept.lease : undefined;
    this.#state = bornAgent({ self: { ...self, boot: bootId }, deployment, server, now: bootTime(), persisted });
    if (server.phase !== "absent" && server.phase !== "gated") this.#lapsedSince = clock.monotonic();
    log.info({ voters: deployment.voters, remembers: persisted !== undefined }, "this agent takes part in leases");
    this.#feed({ kind: "sightings", ...this.#said });
  }

  #afterTick(): void {
    const { server } = this.#options;
    const state = this.#state;
    if (state === undefined) return;
    const leased = this.#leased(state);
    const writable = leased && !state.server.fenced;
    this.#holdLog.note(state.candidate);
    this.#holdLog.noteInSync(state.holder);
    this.#holdLog.noteHandover(state.handover);
    this.#noteLapse(state, writable);
    this.#noteEra(state, leased);
    if (server.holds && (isIdleReplica(state) || this.#hasLapsed(state, leased))) server.carryOut({ do: "settle" });
    if (writable && isAtRest(state) && server.ruleDiffers)
      server.carryOut({ do: "unfence", notAfter: state.holder.leaseUntil });
  }

  /** Whether clients have waited for a lost lease for long enough. */
  #hasLapsed(state: AgentState, leased: boolean): boolean {
    return !leased && state.server.role === "primary" && isAtRest(state) && this.noLeaseMs >= LAPSE_MS;
  }

  /** A replica that is promoted has been without a lease for as long as it leads: readiness must not flicker for that. */
  #noteLapse({ server: { role } }: AgentState, writable: boolean): void {
    const now = this.#options.clock.monotonic();
    if (writable) this.#lapsedSince = undefined;
    else this.#lapsedSince = role === "replica" ? now : (this.#lapsedSince ?? now);
  }

  /** A primary's stream is of the epoch of its lease; a replica's is of what its primary says of the same stream. */
  #noteEra({ server: { role, linkUp, tableEpoch } }: AgentState, leased: boolean): void {
    const { server, eras } = this.#options;
    if (leased) server.beginEra(tableEpoch);
    if (role !== "replica" || !linkUp || this.#primaryEra?.stream !== server.stream) return;
    try {
      eras.begin(this.#primaryEra);
    } catch (error) {
      // A copy whose stream nobody knows counts for less, which a replica without room for it is.
      if (!isDiskFull(error)) throw error;
    }
  }

  #leased(state: AgentState): boolean {
    return holdsLease(contextOf(state, this.#rules, this.#options.bootTime()), state.holder);
  }

  /** Gives the answers to what was asked. */
  #feed(input: Input): readonly Reply[] {
    if (this.#state === undefined) return [];
    const [state, outputs] = step(this.#state, input, this.#rules, this.#options.bootTime());
    this.#state = state;
    const replies: Reply[] = [];
    for (const output of outputs) {
      if (output.do === "send" && "askedBy" in output.message) replies.push(output.message);
      else this.#carryOut(state, output);
    }
    return replies;
  }

  #carryOut(state: AgentState, output: Output): void {
    if (isControl(output)) return this.#control(state, output);
    switch (output.do) {
      case "send":
        if (isQuestion(output.message)) void this.#ask(output.message);
        return;
      case "persist":
        this.#persisted = output.what;
        return this.#keep();
      case "probe":
        void this.#probe(output.node);
        return;
      case "open-gate":
        return this.#openGate(output);
      case "end-handover":
        this.#handovers.ended(output.result, this.#options.clock.monotonic());
        return this.#options.tell("HandoverEnded", `the handover ended: ${output.result}`);
    }
  }

  #control(state: AgentState, output: Control): void {
    const { server, log, tell } = this.#options;
    switch (output.do) {
      case "fence":
        return this.#fence(state);
      case "unfence":
        // Before anything is written in it, the stream belongs to the epoch of this lease.
        server.beginEra(state.server.tableEpoch);
        return server.carryOut(output);
      case "promote":
        tell("Promoting", `the server is told to lead its shard (${output.how})`);
        return server.carryOut(output);
      case "kill":
        tell("ServerKilled", output.why);
        return server.kill(output.why);
      case "stop":
        log.warn({ why: output.why }, "the server is stopped");
        void this.#stop();
        return;
    }
  }

  /** For a handover writes wait, and for a lease that has just been lost; if that takes too long, they are refused. */
  #fence({ handover, holder, server: { role } }: AgentState): void {
    const { server, clock, tell, bootTime } = this.#options;
    const late = handover.stage === "given-away" && bootTime() - handover.since > LATE_MS;
    if (writesWait(handover) && !late) {
      this.#handovers.writesWait(clock.monotonic());
      return server.carryOut({ do: "hold", briefly: false });
    }
    if (role !== "primary") return server.carryOut({ do: "fence" });
    tell("WritesStopped", "the primary has no write lease and takes no writes");
    if (late || this.noLeaseMs >= LAPSE_MS) return server.carryOut({ do: "fence" });
    return server.carryOut({ do: "hold", briefly: isNew(holder) });
  }

  #openGate({ as, of, led }: Output & { readonly do: "open-gate" }): void {
    const primaryId = of === undefined ? undefined : this.#options.addresses.idOf(of);
    const why = of === undefined ? "no member of its shard has a newer copy" : `it follows ${of}`;
    this.#opening = { as, primaryId, led, why };
  }

  async #ask(question: Question): Promise<void> {
    const reply = await this.#options.post.ask(question, this.#signal);
    if (reply === undefined || reply.from !== question.to || reply.to !== question.from) return;
    this.#feed({ kind: "message", message: reply });
    const news = reply.kind === "promised" || (reply.kind === "granted" && this.#lapsedSince !== undefined);
    if (news) this.#afterTick();
  }

  async #probe(node: string): Promise<void> {
    if (await this.#options.post.probe(node)) this.#feed({ kind: "answered", node });
  }

  async #stop(): Promise<void> {
    if (this.#stopping) return;
    this.#stopping = true;
    try {
      await this.#options.stop();
    } catch (error) {
      this.#options.log.error({ err: error }, "the server cannot be stopped");
    } finally {
      this.#stopping = false;
    }
  }

  /** Before anything is said that rests on it. */
  #keep(): void {
    const { keptFile, addresses } = this.#options;
    keptFile.write({ lease: this.#persisted, addresses: addresses.known });
  }
}
