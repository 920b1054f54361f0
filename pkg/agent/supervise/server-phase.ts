/** Where the server is in its life, from what was last seen of it. Pure. */
import { ServerPhase } from "../../rpc/gen/valkey/agent/v1/state_pb.ts";

export interface Seen {
  readonly process: boolean;
  /** Whether it was let in through the gate. */
  readonly admitted: boolean;
  /** Whether it was told to end for good. */
  readonly retired: boolean;
  /** Whether its last answer said that it reads its data. */
  readonly loading: boolean;
  /** Milliseconds since it last answered, or since it was let in if it never did. */
  readonly quietMs: number;
  readonly answered: boolean;
}

/** A server that was asked every second and did not answer for so long. */
export const SILENT_AFTER_MS = 3000;
/** Before its first answer a server opens its ports and reads its table, on a slow disk for a while. */
export const FIRST_ANSWER_MS = 20_000;

export function phaseOf(seen: Seen): ServerPhase {
  if (!seen.process) return seen.retired ? ServerPhase.STOPPED : ServerPhase.ABSENT;
  if (!seen.admitted) return seen.retired ? ServerPhase.STOPPED : ServerPhase.GATED;
  if (!seen.answered) return seen.quietMs < FIRST_ANSWER_MS ? ServerPhase.LOADING : ServerPhase.SILENT;
  if (seen.quietMs >= SILENT_AFTER_MS) return ServerPhase.SILENT;
  return seen.loading ? ServerPhase.LOADING : ServerPhase.RUNNING;
}
