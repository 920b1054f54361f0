/**
 * Suspending, and the first part of deleting: servers save and stop in an order that leaves the newest data on every
 * volume, then their pods go. Resuming needs no order: the gate decides who leads.
 */
import type { Hold } from "./hold.ts";

export interface ServerNow {
  /** Name of the ValkeyNode. */
  readonly node: string;
  readonly shard: number;
  /** Whether it is the primary of its shard, as far as is known. */
  readonly primary: boolean;
  /** UID of its pod; undefined when there is none. */
  readonly podUid: string | undefined;
  /** Whether the pod is on its way out. */
  readonly podGoing: boolean;
  /** Whether its agent says that the server was told to end and has ended. */
  readonly stopped: boolean;
  /** Whether kubelet says that the server's container runs: see podState. One that does not has nothing to save. */
  readonly serverRuns: boolean;
  /**
   * When its agent was last heard of, if it does not answer now; undefined when it answers. Of one that was not asked
   * yet, now; of one that was asked in vain and never heard of, when its pod began: a time that does not move.
   */
  readonly silentSince: Date | undefined;
}

export interface StopStep {
  readonly do: "stop-server";
  readonly node: string;
  readonly save: boolean;
  readonly lane: string;
}

export interface StopPlan {
  readonly steps: readonly StopStep[];
  readonly holds: readonly Hold[];
  /** Nodes that may be scaled to no pod now. A node that was in it before stays in it. */
  readonly down: ReadonlySet<string>;
  /** Whether no pod is left. */
  readonly done: boolean;
  /** For the status. */
  readonly message: string;
  readonly requeueAfterMs?: number | undefined;
}

/**
 * How long an agent may be silent before its server is stopped by ending the pod instead: kubelet then asks the server
 * to end, which saves if it persists at all.
 */
const SILENCE_MS = 30_000;

export interface StopOptions {
  /** Whether what is in memory is written to disk first. */
  readonly save: boolean;
  readonly now: Date;
}

export function planStop(servers: readonly ServerNow[], { save, now }: StopOptions): StopPlan {
  const down = new Set(servers.filter((server) => isDown(server, now)).map(({ node }) => node));
  const open = servers.filter(({ node }) => !down.has(node));
  const silent = open.filter(({ silentSince }) => silentSince !== undefined);
  const steps = Map.groupBy(open, ({ shard }) => shard)
    .values()
    .flatMap((shard) => nextOf(shard))
    .filter(({ silentSince }) => silentSince === undefined)
    .map(({ node }): StopStep => ({ do: "stop-server", node, save, lane: node }));
  const left = servers.filter(({ podUid }) => podUid !== undefined).length;
  return {
    steps: [...steps],
    holds: silent.length === 0 ? [] : [silentHold(silent)],
    down,
    done: left === 0,
    message: left === 0 ? "all pods are stopped" : `${servers.length - left} of ${servers.length} pods are stopped`,
    requeueAfterMs: silent.length === 0 ? undefined : wait(silent, now),
  };
}

/** An agent that answers stops its server also when that is only about to start. */
function isDown({ podUid, podGoing, stopped, serverRuns, silentSince }: ServerNow, now: Date): boolean {
  if (podUid === undefined || podGoing || stopped) return true;
  if (silentSince === undefined) return false;
  return !serverRuns || now.getTime() - silentSince.getTime() >= SILENCE_MS;
}

/**
 * A primary ends before its replicas: on its way out it waits for them, so that all volumes hold the same. Once it has
 * ended, all others go at once.
 */
function nextOf(shard: readonly ServerNow[]): readonly ServerNow[] {
  const primary = shard.filter((server) => server.primary);
  return primary.length > 0 ? primary : shard;
}

function silentHold(silent: readonly ServerNow[]): Hold {
  const names = silent.map(({ node }) => node);
  const shown = names.slice(0, 3).join(", ") + (names.length > 3 ? ` and ${names.length - 3} more` : "");
  return {
    name: "agent-silent",
    reason: `the agents of ${shown} do not answer; ${SILENCE_MS / 1000} s after they were last heard of, their pods are ended without waiting for them`,
  };
}

function wait(silent: readonly ServerNow[], now: Date): number {
  const since = silent.map(({ silentSince }) => silentSince?.getTime() ?? now.getTime());
  return Math.max(1000, Math.min(...since) + SILENCE_MS - now.getTime());
}

/**
 * Nodes that have to stay without a pod for a moment when a cluster is resumed half way: their servers were told to stop
 * and are not let in again in the pod they have, so that goes first.
 */
export function planResume(servers: readonly ServerNow[]): { readonly down: ReadonlySet<string> } {
  const stopped = servers.filter((server) => server.stopped && server.podUid !== undefined);
  return { down: new Set(stopped.map(({ node }) => node)) };
}
