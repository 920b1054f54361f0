/** The agent's own server, seen and commanded for the lease: what is known of it now, and what was done to it last. */
import type { Clock } from "../../clock/clock.ts";
import type { Logger } from "../../log/log.ts";
import type { Output, ServerSight } from "../../plan/lease/context.ts";
import type { DiskStanding } from "../gate/disk.ts";
import type { ServerLook } from "../server-control.ts";
import type { Supervisor } from "../supervise/supervisor.ts";
import { isFence, sameRule, type WriteRule } from "../write-rule.ts";
import type { AckAsker } from "./ack-asker.ts";
import type { Addresses } from "./addresses.ts";
import type { Claim, Era, Eras } from "./eras.ts";
import type { LeaseCommands } from "./lease-commands.ts";
import { ReplicaWatch, type SeenReplica } from "./replica-watch.ts";
import { Sights } from "./sight.ts";

export interface OwnServerOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly node: string;
  /** Names runs of servers apart that have the same number on different machines. */
  readonly podIp: string;
  readonly supervisor: Pick<
    Supervisor,
    "phase" | "admitted" | "arrived" | "look" | "lookedAt" | "freshLook" | "suspended" | "note" | "kill"
  >;
  readonly commands: LeaseCommands;
  readonly acks: Pick<AckAsker, "ask">;
  readonly eras: Eras;
  readonly addresses: Addresses;
  readonly readDisk: () => Promise<DiskStanding>;
  /** Whether the running server keeps its data in an append-only file, and was started from it. */
  readonly appendOnly: () => boolean;
  /** What people want while the lease holds. */
  readonly wantedRule: () => WriteRule;
  readonly bootTime: () => number;
  /** Something of the server changed: decide again. */
  readonly onChange: () => void;
}

/** `hold` keeps writes waiting for a while; `settle` is for a server that does not lead any more. */
export type Command =
  | (Output & { readonly do: "fence" | "unfence" | "promote" })
  | { readonly do: "hold"; readonly briefly: boolean }
  | { readonly do: "settle" };

/** Longer than any handover or election takes: what comes after it is decided before it is over. */
const HOLD_MS = 10_000;
/** For how long what the kernel said of the process counts: one that is stopped has a second. */
const SUSPENDED_MS = 150;
/** A hold that ends soon is none. */
const HOLD_MARGIN_MS = 2000;
const BRIEF_HOLD_MS = 2500;

export class OwnServer {
  readonly #options: OwnServerOptions;
  readonly #sights = new Sights();
  readonly #replicas = new ReplicaWatch();
  #seenReplicas: readonly SeenReplica[] = [];
  #disk: { readonly run: string; readonly standing: DiskStanding } | undefined;
  #readingDisk: Promise<void> | undefined;
  #wasPrimary = false;
  #suspended = { at: Number.NEGATIVE_INFINITY, is: false };
  /** One command at a time: what comes meanwhile is decided upon again when it is done. */
  #commanding = false;
  #commandedAt = Number.NEGATIVE_INFINITY;
  /** Until when clients that write are kept waiting, on the agent's own clock. */
  #heldUntil = Number.NEGATIVE_INFINITY;

  constructor(options: OwnServerOptions) {
    this.#options = options;
  }

  get run(): string {
    const { supervisor, podIp } = this.#options;
    const process = supervisor.admitted?.process;
    if (process !== undefined) return `${podIp}/${process.pid}/${process.startedAt}`;
    return supervisor.arrived === undefined ? "" : `${podIp}/${supervisor.arrived}`;
  }

  get look(): ServerLook | undefined {
    return this.#options.supervisor.look;
  }

  /** The stream of writes it is in. */
  get stream(): string {
    return this.look?.streams[0] ?? "";
  }

  /** As others are told: of a stream that is not known, nothing but its name. */
  get era(): Era {
    const { stream } = this;
    return this.#options.eras.eraOf([stream]) ?? { stream, ...this.claim, from: 0, before: 0 };
  }

  /** From now on its stream is of this epoch: before anything is written in it. */
  beginEra(epoch: number): void {
    if (this.look === undefined) return;
    const { epoch: before, base } = this.claim;
    this.#options.eras.begin({ stream: this.stream, epoch, base, from: base + this.#offset, before });
  }

  get #offset(): number {
    return Number(this.look?.replication?.offset ?? 0n);
  }

  /** Of which epoch its data is, and how far it was when its stream began. */
  get claim(): Claim {
    const { eras, appendOnly } = this.#options;
    const { look } = this;
    if (look !== undefined) return eras.claimOf(look.streams, this.#offset, appendOnly);
    const { stream = "", offset = 0n, mode } = this.#disk?.standing ?? {};
    return eras.claimOf([stream], Number(offset), () => mode === "append-only");
  }

  get nodeId(): string {
    return this.look?.cluster?.nodeId ?? this.#disk?.standing.nodeId ?? "";
  }

  /** Undefined while it is not known what a stopped server has left behind. */
  sight(shards: number): ServerSight | undefined {
    const { supervisor, addresses, node } = this.#options;
    const { look, run } = this;
    const disk = look === undefined && supervisor.admitted === undefined ? this.#diskOf(run) : undefined;
    const { epoch: dataEpoch, base: streamBase } = this.claim;
    const sight = this.#sights.of({
      phase: supervisor.phase,
      run,
      suspended: this.#isSuspended(),
      fenced: this.#fenced(),
      look,
      replicas: look === undefined ? [] : this.#replicasIn(look),
      disk,
      dataEpoch,
      streamBase,
      wasPrimary: this.#wasPrimary,
      shards,
      node,
      nodeId: this.nodeId,
      names: addresses.names,
    });
    if (sight.phase === "gated" && disk === undefined) return undefined;
    if (sight.role !== undefined) this.#wasPrimary = sight.role === "primary";
    return sight;
  }

  /** As of now, of a running server; what its disk holds, of a stopped one. False when it cannot be told. */
  async refresh(signal: AbortSignal): Promise<boolean> {
    const { supervisor } = this.#options;
    if (supervisor.admitted === undefined) {
      await this.#readDisk();
      return true;
    }
    return (await supervisor.freshLook(0, signal)) !== undefined;
  }

  /** The server has ended: what it left is read anew. */
  ended(): void {
    this.#disk = undefined;
    this.#heldUntil = Number.NEGATIVE_INFINITY;
    void this.#learnDisk();
  }

  kill(why: string): void {
    const { log, supervisor } = this.#options;
    log.error({ why }, "the server is killed");
    supervisor.kill();
  }

  /** Whether it is to be commanded at all is for the rules to say. */
  carryOut(command: Command): void {
    if (this.#commanding) return;
    this.#commanding = true;
    void this.#command(command).then((done) => {
      this.#commanding = false;
      // What failed is tried again at the next turn: at once, it would fail again and again.
      if (done) this.#options.onChange();
    });
  }

  /** Whether clients that write wait here. */
  get holds(): boolean {
    return this.#options.clock.monotonic() < this.#heldUntil;
  }

  /** Whether its write rule is another than the lease last set: somebody changed it, or people want another. */
  get ruleDiffers(): boolean {
    const rule = this.#seenRule();
    return rule !== undefined && !isFence(rule) && !sameRule(rule, this.#options.wantedRule());
  }

  /** Whether it was done, or need not be done any more. */
  async #command(command: Command): Promise<boolean> {
    const { log, clock, bootTime } = this.#options;
    try {
      if ("notAfter" in command && bootTime() > command.notAfter) return true;
      await this.#send(command);
      log.info({ command: command.do }, "done to the server");
      return true;
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      log.warn({ command: command.do, why }, "the server did not confirm it");
      return false;
    } finally {
      this.#commandedAt = clock.monotonic();
    }
  }

  async #send(command: Command): Promise<void> {
    const { commands, wantedRule, supervisor, clock } = this.#options;
    const { run } = this;
    switch (command.do) {
      case "fence":
        await commands.fence();
        break;
      case "hold": {
        const ms = command.briefly ? BRIEF_HOLD_MS : HOLD_MS;
        await commands.hold(ms);
        this.#heldUntil = clock.monotonic() + ms;
        return;
      }
      case "settle":
        await commands.settle();
        this.#heldUntil = Number.NEGATIVE_INFINITY;
        break;
      case "unfence":
        // Noted before it is true: a fence that is noted down must hold.
        supervisor.note({ fenced: false });
        await commands.unfence(wantedRule());
        this.#heldUntil = Number.NEGATIVE_INFINITY;
        return;
      case "promote":
        supervisor.note({ fenced: false });
        this.#heldUntil = clock.monotonic() + HOLD_MS;
        await commands.promote(command.how, wantedRule(), HOLD_MS);
        return;
    }
    if (this.run === run) supervisor.note({ fenced: true });
  }

  #replicasIn(look: ServerLook): readonly SeenReplica[] {
    const { acks, bootTime, clock, supervisor } = this.#options;
    const replicas = this.#replicas.see(look, bootTime() - (clock.monotonic() - supervisor.lookedAt));
    if (replicas !== this.#seenReplicas && ReplicaWatch.mustAsk(replicas)) acks.ask();
    this.#seenReplicas = replicas;
    return replicas;
  }

  #isSuspended(): boolean {
    const at = this.#options.clock.monotonic();
    if (at - this.#suspended.at >= SUSPENDED_MS) this.#suspended = { at, is: this.#options.supervisor.suspended };
    return this.#suspended.is;
  }

  /** By what was done to it last, or by what it said since. */
  #fenced(): boolean {
    if (this.#options.clock.monotonic() < this.#heldUntil - HOLD_MARGIN_MS) return true;
    const noted = this.#options.supervisor.admitted?.fenced ?? true;
    const rule = this.#seenRule();
    return rule === undefined ? noted : isFence(rule);
  }

  #seenRule(): WriteRule | undefined {
    const { supervisor } = this.#options;
    return !this.#commanding && supervisor.lookedAt > this.#commandedAt ? this.look?.writeRule : undefined;
  }

  #diskOf(run: string): DiskStanding | undefined {
    if (this.#disk?.run === run) return this.#disk.standing;
    void this.#learnDisk();
    return undefined;
  }

  async #learnDisk(): Promise<void> {
    await this.#readDisk();
    this.#options.onChange();
  }

  async #readDisk(): Promise<void> {
    this.#readingDisk ??= this.#readOnce().finally(() => {
      this.#readingDisk = undefined;
    });
    await this.#readingDisk;
  }

  async #readOnce(): Promise<void> {
    const { run } = this;
    const standing = await this.#options.readDisk();
    if (run !== this.run) return;
    this.#disk = { run, standing };
  }
}
