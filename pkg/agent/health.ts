/** Whether the node can be used by clients, followed from look to look. */
import type { Clock } from "../clock/clock.ts";
import type { Logger } from "../log/log.ts";
import { syncedAfter, whyNotReady } from "./readiness.ts";
import type { Supervisor } from "./supervise/supervisor.ts";

export interface HealthOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly supervisor: Pick<Supervisor, "phase" | "look" | "admitted" | "note">;
  /** For how long the server has been without the write lease. */
  readonly noLeaseMs: () => number;
  /** Whether the agent has a vote in leases and cannot give it yet. */
  readonly learning: () => boolean;
}

export class Health {
  readonly #options: HealthOptions;
  /** Undefined while its cluster is usable; a server that just started has not seen it so. */
  #clusterDownSince: number | undefined = Number.NEGATIVE_INFINITY;
  #wasReady = false;

  constructor(options: HealthOptions) {
    this.#options = options;
  }

  /** Why clients cannot use this node; undefined when they can. */
  get notReady(): string | undefined {
    const { clock, supervisor, noLeaseMs, learning } = this.#options;
    const { phase, look, admitted } = supervisor;
    const { synced = false } = admitted ?? {};
    const since = this.#clusterDownSince;
    return whyNotReady({
      phase,
      look,
      noLeaseMs: noLeaseMs(),
      learning: learning(),
      synced,
      clusterDownMs: since === undefined ? 0 : clock.monotonic() - since,
    });
  }

  /** After every look; says whether the node has become ready or has ceased to be. */
  looked(): boolean {
    const { clock, log, supervisor } = this.#options;
    const { look, admitted } = supervisor;
    if (look !== undefined && admitted !== undefined) {
      if (look.cluster?.ok === false) this.#clusterDownSince ??= clock.monotonic();
      else this.#clusterDownSince = undefined;
      const synced = syncedAfter(look, admitted.synced);
      if (synced !== admitted.synced) supervisor.note({ synced });
    }
    const { notReady } = this;
    const ready = notReady === undefined;
    const turned = ready !== this.#wasReady;
    this.#wasReady = ready;
    if (turned) log.info({ ready, why: notReady }, "readiness");
    return turned;
  }

  died(): void {
    this.#clusterDownSince = Number.NEGATIVE_INFINITY;
    this.looked();
  }
}
