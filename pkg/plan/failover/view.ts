/** What a failover by hand is decided on. */

import type { ValkeyClusterStatus } from "../../api/cluster-status.ts";
import type { FailoverRequest } from "../../api/failover-request.ts";
import type { RolloutMember } from "../rollout/view.ts";

export type FailoverStatus = NonNullable<ValkeyClusterStatus["failover"]>;

/** What the agent of the old primary answered, or that it did not. */
export interface FailoverOutcome {
  readonly request: string;
  readonly result: "handed-over" | "not-primary" | "refused" | "unanswered";
  /** Who leads now, as far as it knows; may be empty. */
  readonly successor: string;
  readonly writesWaitedMs: number;
  readonly message: string;
}

export interface FailoverView {
  readonly request: FailoverRequest;
  /** What is written down of this or an earlier one. */
  readonly recorded: FailoverStatus | undefined;
  /** Known only to the operator that has asked the agent. */
  readonly outcome: FailoverOutcome | undefined;
  /** Nodes whose agents are being asked to hand over at this moment: the answer comes after the new primary shows. */
  readonly asked: ReadonlySet<string>;
  readonly members: readonly RolloutMember[];
  readonly now: Date;
}

export function isOver({ phase }: Pick<FailoverStatus, "phase">): boolean {
  return phase === "Done" || phase === "Failed";
}
