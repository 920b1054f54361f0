/** Looks at the server, one look at a time whoever asks, and remembers how it answered. */
import type { Clock } from "../../clock/clock.ts";
import type { ClusterState } from "../../rpc/gen/valkey/agent/v1/state_pb.ts";
import { ValkeyError } from "../../valkey/valkey-error.ts";
import type { ServerControl, ServerLook } from "../server-control.ts";
import { FIRST_ANSWER_MS, SILENT_AFTER_MS } from "./server-phase.ts";

const DEADLINE_MS = 1500;
/** A server that has changed lately is looked at more often. */
const SETTLED_AFTER_MS = 3000;

export class Looker {
  readonly #control: Pick<ServerControl, "look">;
  readonly #clock: Clock;
  #last: ServerLook | undefined;
  /** Of the last one: what does not change by itself. */
  #shape = "";
  #lookedAt = 0;
  #answeredAt: number;
  #changedAt: number;
  #changes = 0;
  #answered = false;
  #loading = false;
  #running: { readonly began: number; readonly done: Promise<void> } | undefined;
  /** Looks that began before the server was exchanged tell nothing about the new one. */
  #life = 0;

  constructor(control: Pick<ServerControl, "look">, clock: Clock) {
    this.#control = control;
    this.#clock = clock;
    this.#answeredAt = clock.monotonic();
    this.#changedAt = this.#answeredAt;
  }

  get last(): ServerLook | undefined {
    return this.#last;
  }

  /** When the last look that was answered began. */
  get lookedAt(): number {
    return this.#lookedAt;
  }

  get answered(): boolean {
    return this.#answered;
  }

  get loading(): boolean {
    return this.#loading;
  }

  get quietMs(): number {
    return this.#clock.monotonic() - this.#answeredAt;
  }

  get silent(): boolean {
    return this.quietMs >= (this.#answered ? SILENT_AFTER_MS : FIRST_ANSWER_MS);
  }

  /** How often anything but counters was different from the look before. */
  get changes(): number {
    return this.#changes;
  }

  get settled(): boolean {
    return this.#last !== undefined && !this.#loading && this.#clock.monotonic() - this.#changedAt > SETTLED_AFTER_MS;
  }

  /** For a new server: what the last one answered is not its. */
  forget(): void {
    this.#life += 1;
    this.#last = undefined;
    this.#shape = "";
    this.#answered = false;
    this.#loading = false;
    this.#running = undefined;
    this.#answeredAt = this.#clock.monotonic();
    this.#changedAt = this.#answeredAt;
  }

  /**
   * A look that began no longer ago than this; with 0 one that begins now. Undefined when the server does not answer, or
   * answers that it is too busy.
   */
  async fresh(maxAgeMs: number, signal: AbortSignal): Promise<ServerLook | undefined> {
    const notBefore = this.#clock.monotonic() - maxAgeMs;
    const life = this.#life;
    if (this.#last !== undefined && this.#lookedAt >= notBefore) return this.#last;
    // One that is under way may have asked the server already.
    if (this.#running !== undefined && this.#running.began < notBefore) await this.#running.done;
    if (life !== this.#life) return undefined;
    this.#running ??= this.#begin(signal);
    await this.#running.done;
    return life === this.#life && this.#lookedAt >= notBefore ? this.#last : undefined;
  }

  #begin(signal: AbortSignal): { readonly began: number; readonly done: Promise<void> } {
    const began = this.#clock.monotonic();
    const life = this.#life;
    const done = this.#look(began, signal).finally(() => {
      if (life === this.#life) this.#running = undefined;
    });
    return { began, done };
  }

  async #look(began: number, signal: AbortSignal): Promise<void> {
    const life = this.#life;
    try {
      const look = await this.#control.look(AbortSignal.any([signal, AbortSignal.timeout(DEADLINE_MS)]));
      if (life === this.#life) this.#keep(look, began);
    } catch (error) {
      if (life === this.#life && isAnswer(error)) this.#heard(isLoading(error));
    }
  }

  #keep(look: ServerLook, began: number): void {
    const shape = shapeOf(look);
    if (shape !== this.#shape) {
      this.#shape = shape;
      this.#changes += 1;
      this.#changedAt = this.#clock.monotonic();
    }
    this.#last = look;
    this.#lookedAt = began;
    this.#heard(look.loading);
  }

  #heard(loading: boolean): void {
    this.#answered = true;
    this.#loading = loading;
    this.#answeredAt = this.#clock.monotonic();
  }
}

/** A server that refuses is a server that lives: it runs a long script, say, or loads. */
function isAnswer(error: unknown): boolean {
  return error instanceof ValkeyError && ["busy", "loading", "refused", "auth"].includes(error.code);
}

function isLoading(error: unknown): boolean {
  return error instanceof ValkeyError && error.code === "loading";
}

/** What of a look does not change by itself. */
function shapeOf({ runId, loading, cluster, replication }: ServerLook): string {
  const streams = replication?.replicas.map(({ ip, online }) => [ip, online]);
  const link = [replication?.inSync, replication?.syncing];
  return [runId, loading, cluster === undefined ? "" : clusterShape(cluster), streams, link].join();
}

/** Most looks share what they say of the cluster with the one before. */
const CLUSTER_SHAPES = new WeakMap<ClusterState, string>();

function clusterShape(cluster: ClusterState): string {
  const known = CLUSTER_SHAPES.get(cluster);
  if (known !== undefined) return known;
  const { ok, role, configEpoch, primaryId, slots, nodes } = cluster;
  const own = slots.map(({ first, last }) => `${first}-${last}`);
  const others = nodes.map(({ id, failed, handshake, connected, role }) => [id, failed, handshake, connected, role]);
  const shape = [ok, role, configEpoch, primaryId, own, others].join();
  CLUSTER_SHAPES.set(cluster, shape);
  return shape;
}
