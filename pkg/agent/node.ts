/**
 * The node: everything that this agent knows of its server and does with it, for whoever asks. What runs by itself (the
 * supervisor, the applying) is started by the agent.
 */
import { Code, ConnectError } from "@connectrpc/connect";
import { type Clock, pause } from "../clock/clock.ts";
import type { Logger } from "../log/log.ts";
import type { ConfigureRequest, HandoverRequest, OwnRequest } from "../rpc/gen/valkey/agent/v1/agent_pb.ts";
import type { GetStandingResponse } from "../rpc/gen/valkey/agent/v1/peer_pb.ts";
import { type AppliedConfiguration, type NodeState, Role, ServerPhase } from "../rpc/gen/valkey/agent/v1/state_pb.ts";
import type { AgentIdentity } from "./agent-identity.ts";
import type { AgentOptions } from "./agent-options.ts";
import { ApplyLoop } from "./apply-loop.ts";
import type { DiskStanding } from "./gate/disk.ts";
import { gateText } from "./gate/gate-text.ts";
import type { AskPeers } from "./gate/peers.ts";
import { departure, handoverResponse } from "./handover-response.ts";
import { Health } from "./health.ts";
import { type Lease, makeLease } from "./lease/lease.ts";
import type { Opening } from "./lease/lease-driver.ts";
import { NodeDisk } from "./node-disk.ts";
import { nodeState } from "./node-state.ts";
import { type NodeTrouble, nodeTroubles } from "./node-troubles.ts";
import { ownStanding } from "./own-standing.ts";
import { phaseInWords } from "./readiness.ts";
import type { Reason } from "./report/reporter.ts";
import type { Served } from "./serve/agent-services.ts";
import { HeldProbe } from "./serve/held-probe.ts";
import type { ServerControl, ServerLook, Wanted } from "./server-control.ts";
import { type AgentLogin, essentialsOf, wantedOfNode, writeNodeFiles, writeServerConf } from "./server-files.ts";
import { Shard } from "./shard.ts";
import { StartTroubles } from "./start-troubles.ts";
import { type ServerEvent, Supervisor } from "./supervise/supervisor.ts";
import type { WantedStore } from "./wanted-store.ts";

export interface NodeDeps {
  readonly options: AgentOptions;
  readonly bootId: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly control: ServerControl;
  readonly login: AgentLogin;
  readonly store: WantedStore;
  readonly identity: AgentIdentity;
  readonly ask: AskPeers;
  readonly tell: (reason: Reason, message: string) => void;
  /** Something changed that the operator should hear of soon. */
  readonly onChange: () => void;
}

/** A state that is told is never older than this while the server answers. */
const FRESH_MS = 200;
const STANDING_MS = 1500;
/** Of the answer to Configure: what is not applied by then is told by a later state. */
const APPLY_MS = 2500;
/** Of a server that has to leave its cluster. */
const STOP_MS = 30_000;
/** For a new voter to learn what was granted before it. */
const LEARNED_MS = 3000;
/** Of the operator's question whether this node leads by now. */
const PROMOTED_MS = 2000;

export class Node implements Served {
  readonly bootId: string;
  readonly control: ServerControl;
  readonly supervisor: Supervisor;
  readonly applying: ApplyLoop;
  /** For kubelet. */
  readonly readiness: HeldProbe;
  readonly #deps: NodeDeps;
  readonly #shard: Shard;
  readonly #starts = new StartTroubles();
  readonly #health: Health;
  readonly #disk: NodeDisk;
  #made: { readonly of: Wanted; readonly wanted: Wanted } | undefined;
  readonly lease: Lease;

  constructor(deps: NodeDeps) {
    const { options, clock, log, control } = deps;
    this.#deps = deps;
    this.bootId = deps.bootId;
    this.control = control;
    this.#shard = new Shard({
      node: options.node,
      store: deps.store,
      ask: deps.ask,
      standing: (signal) => this.standing(this.bootId, signal),
    });
    this.supervisor = new Supervisor({
      paths: options.paths,
      clock,
      log,
      control,
      gate: {
        opening: () => this.lease.driver.opening,
        taken: () => this.lease.driver.takeOpening(),
        waitsFor: () => deps.store.problem ?? this.lease.driver.gateWaitsFor,
      },
      prepare: (opening) => this.#prepare(opening),
      reset: () => writeServerConf(options.paths),
      onEvent: (event) => this.#heard(event),
    });
    this.lease = makeLease({
      options,
      clock,
      log,
      bootId: deps.bootId,
      login: deps.login,
      ask: deps.ask,
      tell: deps.tell,
      supervisor: this.supervisor,
      readDisk: () => this.#disk.standing(),
      wanted: () => deps.store.current,
      stop: () => control.shutdown(true, AbortSignal.timeout(STOP_MS)),
    });
    this.#disk = new NodeDisk({
      paths: options.paths,
      version: options.valkeyVersion,
      log,
      eras: () => this.lease.eras,
      wanted: () => deps.store.current,
      appliedAt: () => this.applying.appliedAt,
      tellSetAside: (message) => deps.tell("FilesSetAside", message),
    });
    this.#health = new Health({
      clock,
      log,
      supervisor: this.supervisor,
      noLeaseMs: () => this.lease.driver.noLeaseMs,
      learning: () => this.lease.driver.learning,
    });
    this.readiness = new HeldProbe(() => this.notReady, clock);
    this.applying = new ApplyLoop({
      clock,
      log,
      control,
      wanted: () => this.#applicable(),
      runId: () => this.supervisor.look?.runId,
      onChange: deps.onChange,
    });
  }

  /** Why clients cannot use this node; undefined when they can. */
  get notReady(): string | undefined {
    return this.#health.notReady;
  }

  async state(signal: AbortSignal): Promise<NodeState> {
    const { supervisor, applying } = this;
    await supervisor.freshLook(FRESH_MS, signal);
    const { phase, waitsFor, look } = supervisor;
    const disk = look === undefined ? await this.#disk.standing() : undefined;
    return nodeState({
      bootId: this.bootId,
      phase,
      waitsFor,
      ready: this.notReady === undefined,
      look,
      disk,
      applied: applying.applied,
      drifts: applying.drifts,
      troubles: this.#troubles(disk),
      identityThumbprint: this.#deps.identity.thumbprint,
      leaseEpoch: this.lease.driver.knownEpoch,
    });
  }

  /** As of now: on an answer that is a moment old a peer could be let in against data that came in that moment. */
  async standing(askedByBootId: string, signal: AbortSignal): Promise<GetStandingResponse> {
    const { supervisor, bootId } = this;
    const { node } = this.#deps.options;
    const look = await supervisor.freshLook(0, AbortSignal.any([signal, AbortSignal.timeout(STANDING_MS)]));
    const disk = await this.#disk.standing();
    const { phase, retired, admitted } = supervisor;
    if (admitted !== undefined && look === undefined && phase !== ServerPhase.LOADING) {
      throw new ConnectError("the server does not answer: what it holds is not known", Code.Unavailable);
    }
    const whole = phase === ServerPhase.LOADING || admitted === undefined ? undefined : look;
    const fenced = admitted?.fenced ?? false;
    return ownStanding({ node, bootId, askedByBootId, phase, retired, fenced, look: whole, disk });
  }

  async configure(request: ConfigureRequest, signal: AbortSignal): Promise<AppliedConfiguration | undefined> {
    const { store, identity, log } = this.#deps;
    const { configuration, secrets } = request;
    this.#shard.sighted(request.sightings);
    this.#tellSightings();
    if (store.push({ configuration, secrets })) {
      const wanted = store.current;
      log.info({ configuration: wanted?.configuration.hash, secrets: wanted?.secrets.hash }, "new configuration");
    }
    const applied = await this.applying.settled(AbortSignal.any([signal, AbortSignal.timeout(APPLY_MS)]));
    if (request.identity !== undefined) pushIdentity(identity, request.identity);
    this.#deps.onChange();
    return applied;
  }

  whyNoCommands(): string | undefined {
    const { phase } = this.supervisor;
    return phase === ServerPhase.RUNNING ? undefined : `no command can be sent: ${phaseInWords(phase)}`;
  }

  /** Its epoch is above all that is remembered of leases: servers that lost everything begin at 1 again, agents do not. */
  async readyToOwn(request: OwnRequest, signal: AbortSignal): Promise<OwnRequest> {
    const { clock } = this.#deps;
    await this.#shard.proveOwn(signal);
    const { driver } = this.lease;
    const until = clock.monotonic() + LEARNED_MS;
    while (driver.learning && clock.monotonic() < until && (await pause(clock, FRESH_MS, signal)));
    const known = BigInt(driver.knownEpoch);
    return request.configEpoch > known ? request : { ...request, configEpoch: known + request.configEpoch };
  }

  async promoted(signal: AbortSignal): Promise<void> {
    const until = this.#deps.clock.monotonic() + PROMOTED_MS;
    do {
      const look = await this.supervisor.freshLook(FRESH_MS, signal);
      if (look?.cluster?.role === Role.PRIMARY && look.cluster.slots.length > 0) return;
    } while ((await pause(this.#deps.clock, FRESH_MS, signal)) && this.#deps.clock.monotonic() < until);
    const [hold] = this.lease.driver.holds;
    const why = hold === undefined ? "no member has asked for its place yet" : hold.reason;
    throw new ConnectError(`the agents have not promoted it: ${why}`, Code.FailedPrecondition);
  }

  /** What a pod that goes away does with its server's role: its replica with the newest copy leads before it ends. */
  async leave(signal: AbortSignal): Promise<string> {
    this.#deps.tell("PodTerminating", this.notReady ?? "the pod was told to go while its node serves clients");
    const handover = await this.lease.driver.leave(signal).finally(() => this.supervisor.expectEnd());
    const look = handover.result === "handed-over" ? await this.supervisor.freshLook(0, signal) : undefined;
    const words = departure(handover, this.#leaderIn(look));
    if (words.reason !== undefined) this.#deps.tell(words.reason, words.message);
    return words.message;
  }

  async handOver({ nodeId, successor }: HandoverRequest, signal: AbortSignal) {
    const own = this.supervisor.look?.cluster?.nodeId ?? "";
    if (nodeId !== own) {
      throw new ConnectError(`refused to hand over: this node is ${own}, not ${nodeId}`, Code.FailedPrecondition);
    }
    const handover = await this.lease.driver.handOver(successor === "" ? undefined : successor, signal);
    const look = await this.supervisor.freshLook(0, signal);
    this.#deps.onChange();
    return handoverResponse(handover, this.#leaderIn(look), successor);
  }

  /** Of its shard; empty when the server does not say, because it has ended meanwhile. */
  #leaderIn(look: ServerLook | undefined): string {
    const id = look?.cluster?.primaryId ?? "";
    return id === "" ? "" : this.lease.addresses.nameOf(id);
  }

  answer: Served["answer"] = (request, caller, signal) => this.lease.answering.call(request, caller, signal);

  async stop(save: boolean, signal: AbortSignal): Promise<void> {
    const { supervisor } = this;
    supervisor.retire();
    if (supervisor.admitted !== undefined) await this.control.shutdown(save, signal);
    await supervisor.gone(signal);
    this.#deps.tell("ServerStopped", "the server was told to end, and its gate stays shut");
  }

  commanded(): void {
    this.#deps.onChange();
  }

  /** What was mounted may have changed. */
  readMounts(): void {
    if (this.#deps.store.readMounts()) this.applying.poke();
  }

  /** Made once for each change: it is asked for many times a second. */
  #wanted(): Wanted | undefined {
    const { store, options } = this.#deps;
    const { current } = store;
    if (current === undefined) return undefined;
    if (this.#made?.of !== current) this.#made = { of: current, wanted: wantedOfNode(current, options) };
    return this.#made.wanted;
  }

  #applicable(): Wanted | undefined {
    return this.supervisor.admitted === undefined ? undefined : this.#wanted();
  }

  #tellSightings(): void {
    const { sightings } = this.#shard;
    this.lease.addresses.sight(new Map(sightings.map(({ node, ip }) => [node, ip])));
    const lost = sightings.filter((sighting) => sighting.lost).map(({ node }) => node);
    const stopped = sightings.filter((sighting) => sighting.stopped).map(({ node }) => node);
    this.lease.driver.sighted(lost, stopped);
  }

  async #prepare(opening: Opening): Promise<string> {
    const { store, options, login } = this.#deps;
    const wanted = this.#wanted();
    if (wanted === undefined) throw new Error(store.problem ?? "there is no configuration");
    const mode = await this.#disk.prepare(opening);
    const bare = this.#starts.essentialsOnly(wanted.configuration.hash);
    writeNodeFiles(bare ? essentialsOf(wanted) : wanted, options, login);
    this.#disk.noteStart(mode);
    return gateText({ nodeConf: options.paths.nodeConf, mode });
  }

  #heard(event: ServerEvent): void {
    const { tell, onChange } = this.#deps;
    switch (event.kind) {
      case "looked":
        this.#looked(event.changed);
        return;
      case "gate-waits":
        tell("GateWaits", `the server is at its gate: ${event.waitsFor}`);
        break;
      case "gate-opened":
        tell("GateOpened", `the server was let in: ${event.opening.why}`);
        break;
      case "died":
        this.#died(event.answered, event.afterMs);
        break;
      case "silent":
        tell("ServerSilent", "the server is there and does not answer");
        break;
    }
    onChange();
  }

  #died(answered: boolean, afterMs: number): void {
    const { tell, store } = this.#deps;
    this.lease.driver.serverEnded();
    this.#health.died();
    tell("ServerDied", `the server ended after ${Math.round(afterMs / 1000)} s`);
    if (this.#starts.ended(answered, store.current?.configuration.hash ?? "")) {
      tell("SettingsLeftOut", "the server ends right after its start: the next start leaves out what is not essential");
    }
  }

  #looked(changed: boolean): void {
    const turned = this.#health.looked();
    this.readiness.notify();
    const { look } = this.supervisor;
    if (look !== undefined) {
      this.#starts.answered();
      this.#disk.noteLook(look);
      this.applying.poke();
    }
    if (changed) this.lease.driver.poke();
    if (turned || changed) this.#deps.onChange();
  }

  #troubles(disk: DiskStanding | undefined): readonly NodeTrouble[] {
    const { store, options } = this.#deps;
    const { noLeaseMs, holds } = this.lease.driver;
    return nodeTroubles({
      noConfiguration: store.problem,
      badFiles: disk?.trouble,
      notApplied: this.applying.problem,
      failsToStart: this.#starts.trouble,
      look: this.supervisor.look,
      noLeaseMs,
      leaseHold: holds[0]?.reason,
      data: options.paths.data,
    });
  }
}

function pushIdentity(identity: AgentIdentity, pushed: NonNullable<ConfigureRequest["identity"]>): void {
  try {
    identity.push(pushed);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new ConnectError(`the pushed identity cannot be used: ${why}`, Code.InvalidArgument);
  }
}
