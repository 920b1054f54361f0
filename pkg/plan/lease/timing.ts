/** The times that the rules rest on, each with its reason. All are read on the boot-time clock of the agent's machine. */

export interface Timing {
  /** How long a write lease lasts, counted by the holder from the sending of the renewal. */
  readonly leaseMs: number;
  /** How often a holder renews. */
  readonly renewEveryMs: number;
  /** How often it tries while it has no lease. */
  readonly retryEveryMs: number;
  /** How long those who were asked first may take before all are asked. */
  readonly secondAskMs: number;
  /** At which share of the lease the holder begins to fence: the rest is for fencing itself and for a drifting clock. */
  readonly fenceAt: number;
  /** How many leases a voter waits after its last grant before it gives the lease to somebody else. */
  readonly waitFor: number;
  /** The same for a promise, in times of how late its election may be won. */
  readonly promiseFor: number;
  /** How soon a fence must be confirmed by the server; then the server is killed. */
  readonly fenceConfirmMs: number;
  /** A promotion is only begun this soon after the promises for it were asked. */
  readonly forceWithinMs: number;
  /**
   * How long a server may still win an election after `CLUSTER FAILOVER FORCE`: it cannot be called back. The agent sets
   * `cluster-manual-failover-timeout` to it (8.1 and newer; before, it is 5000 and cannot be set).
   */
  readonly failoverTimeoutMs: number;
  /** How often a candidate asks, and how long an answer describes the present, counted from the question. */
  readonly askEveryMs: number;
  /**
   * The same in a candidate's first moments: the word that the lease is free goes to all voters at once, and a voter that was
   * asked before it came has refused.
   */
  readonly askSoonMs: number;
  readonly answerFreshMs: number;
  /** The same at the gate, where nothing changes while all wait: agents of a busy machine take their time to answer. */
  readonly gateFreshMs: number;
  /** How often a successor is asked how far it is, while writes wait for it. */
  readonly catchUpEveryMs: number;
  /**
   * How far a replica may be behind, by what it has acknowledged, to count as in sync. More than a lease would break what is
   * promised: a primary that is cut off a moment after its replica lost its link would be replaced by a copy that misses
   * more than what was acknowledged within one lease.
   */
  readonly inSyncLagMs: number;
  /** A server that answers this share of a lease after its agent's last renewal has nobody who would fence it. */
  readonly unguardedAfter: number;
  /** For how many node timeouts such a server must not answer before it has surely stopped by its own minority rule. */
  readonly unguardedSilence: number;
  readonly nodeTimeoutMs: number;
  /** How long a process may be stopped (state T) before it is killed. */
  readonly stoppedMs: number;
  /** How long a process may be there without an answer: a busy script or a slow disk is not a dead server. */
  readonly silentMs: number;
  /** For how long a handover waits, before writes do, for a replica to get what was written during its first sync. */
  readonly streamingMs: number;
  /** How long a handover may keep writes waiting before it is given up. */
  readonly handoverMs: number;
  /**
   * For how long after the end of its lease the server of a restarted agent goes on, so that an agent that ends now and
   * then stops no writes. Nobody else is given the lease before that: voters wait for `waitFor` leases, the holder counts
   * `fenceAt` of one, and what is left between (1100 ms) is for this, for fencing, and for clocks that run apart.
   */
  readonly rebornMs: number;
}

export const TIMING: Timing = {
  leaseMs: 2000,
  renewEveryMs: 500,
  retryEveryMs: 100,
  secondAskMs: 200,
  fenceAt: 0.7,
  waitFor: 1.25,
  promiseFor: 1.25,
  fenceConfirmMs: 800,
  forceWithinMs: 500,
  failoverTimeoutMs: 1000,
  askEveryMs: 150,
  askSoonMs: 30,
  answerFreshMs: 800,
  gateFreshMs: 2500,
  catchUpEveryMs: 20,
  inSyncLagMs: 2000,
  unguardedAfter: 0.65,
  unguardedSilence: 1.3,
  nodeTimeoutMs: 5000,
  stoppedMs: 1000,
  silentMs: 15_000,
  streamingMs: 2000,
  handoverMs: 5000,
  rebornMs: 700,
};

/** After its last grant, how long a voter keeps the lease for the holder. */
export function leaseWaitMs({ leaseMs, waitFor }: Timing): number {
  return leaseMs * waitFor;
}

/** How long a promise binds: an election that was begun in time may be won this late. */
export function promiseWaitMs({ forceWithinMs, failoverTimeoutMs, promiseFor }: Timing): number {
  return (forceWithinMs + failoverTimeoutMs) * promiseFor;
}

/** How long after the sending of a renewal the holder may let its server take writes. */
export function writeForMs({ leaseMs, fenceAt }: Timing): number {
  return leaseMs * fenceAt;
}
