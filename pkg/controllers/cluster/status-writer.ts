/** Writes the status of clusters: only what changed, and not more often than anybody can read it. */
import type { ValkeyCluster } from "../../api/cluster.ts";
import type { ValkeyClusterStatus } from "../../api/cluster-status.ts";
import type { Clock } from "../../clock/clock.ts";
import type { Applier } from "../../kube/apply.ts";
import type { ActContext } from "../../kube/controller.ts";
import { keyOf } from "../../kube/resource.ts";
import { VALKEY_CLUSTERS } from "../resources.ts";
import { Blinks } from "./blinks.ts";

const BETWEEN_MS = 1000;

export class StatusWriter {
  readonly #applier: Applier;
  readonly #clock: Clock;
  readonly #written = new Map<string, number>();
  readonly #blinks = new Blinks();

  constructor(applier: Applier, clock: Clock) {
    this.#applier = applier;
    this.#clock = clock;
  }

  /** Gives after how long it should be tried again; undefined when it was written, or is as it should be. */
  async write(cluster: ValkeyCluster, status: ValkeyClusterStatus, context: ActContext): Promise<number | undefined> {
    const key = keyOf(cluster);
    const now = this.#clock.monotonic();
    const blinkMs = this.#blinks.waitMs(key, cluster.status, status, now);
    if (blinkMs > 0) return blinkMs;
    const waitMs = (this.#written.get(key) ?? -Infinity) + BETWEEN_MS - now;
    if (waitMs > 0 && !isUrgent(cluster.status, status)) return waitMs;
    const { owner, signal, guard } = context;
    const outcome = await this.#applier.applyStatus(VALKEY_CLUSTERS, cluster, status, { owner, signal, guard });
    if (outcome.did !== "nothing") this.#written.set(key, now);
    return undefined;
  }

  forget(key: string): void {
    this.#written.delete(key);
    this.#blinks.forget(key);
  }
}

/** Whoever waits for a condition or a phase must not wait for us. */
function isUrgent(before: ValkeyClusterStatus | undefined, now: ValkeyClusterStatus): boolean {
  return before?.phase !== now.phase || wordsOf(before) !== wordsOf(now) || failoverOf(before) !== failoverOf(now);
}

function failoverOf(status: ValkeyClusterStatus | undefined): string {
  return `${status?.failover?.id} ${status?.failover?.phase}`;
}

function wordsOf(status: ValkeyClusterStatus | undefined): string {
  return (status?.conditions ?? [])
    .map(({ type, status, observedGeneration }) => `${type}=${status}@${observedGeneration ?? 0}`)
    .join();
}
