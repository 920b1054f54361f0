/** What a rolling change decides on: every place of the cluster, its pod, and what its agent last said. Plain values. */
import type { PodState } from "../lifecycle/template.ts";

/** What a running server's agent said. */
export interface MemberAnswer {
  readonly ageMs: number;
  readonly nodeId: string;
  /** Whether its server answers it. */
  readonly running: boolean;
  /** Slots that it owns as a primary. */
  readonly ownSlots: number;
  /** Of a replica: whom it follows. */
  readonly primaryId: string;
  /** Of a replica: whether it has everything its primary has. */
  readonly inSync: boolean;
  /** Whether the cluster's state is "ok" for it, and how many slots it knows an owner of. */
  readonly clusterOk: boolean;
  readonly slotsAssigned: number;
  /** Whether every primary and it are connected and know each other as they are: else votes for it may be lost. */
  readonly electable: boolean;
  readonly version: string;
}

export interface RolloutMember {
  /** Name of the ValkeyNode. */
  readonly name: string;
  readonly shard: number;
  readonly member: number;
  readonly pod: PodState;
  /** Whether its pod is on its way out. */
  readonly going: boolean;
  /** Whether its pod can go without taking anything away: no server ever ran in it, or none can and its volume stays. */
  readonly holdsNothing: boolean;
  readonly ready: boolean;
  readonly readySince: Date | undefined;
  /** Whether its pod has to be replaced, or made in another way, to be what the spec asks for. */
  readonly outdated: boolean;
  /** Whether its node has been told to replace the pod that is there. */
  readonly letGo: boolean;
  /** Undefined while its agent does not answer, with the reason in `silence`. */
  readonly answer: MemberAnswer | undefined;
  readonly silence: string;
  /** Settings that its server refuses. */
  readonly refused: readonly string[];
  /** What its agent calls wrong with a server that was started, in words. */
  readonly troubles: readonly string[];
}

export interface RolloutView {
  /** Spares that are there included. */
  readonly members: readonly RolloutMember[];
  readonly strategy: "Rolling" | "Surge";
  /** Shards that may have a pod down at once. */
  readonly maxUnavailable: number;
  readonly canarySeconds: number;
  /** Five cron fields, UTC; empty for any time. */
  readonly window: string;
  /** The version that the image is said to be of: `9.1`; undefined when its tag tells none. */
  readonly wantedVersion: string | undefined;
  /** Whether a server that ends leaves its data behind: on a volume, and written to it. */
  readonly keepsData: boolean;
  /** A failover that somebody asked for and that is under way. */
  readonly failover: string | undefined;
  readonly now: Date;
}

export function isPrimary({ answer }: RolloutMember): boolean {
  return answer !== undefined && answer.running && answer.ownSlots > 0;
}
