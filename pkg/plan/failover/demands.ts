/** What is demanded before a failover that somebody asked for is begun. What is not met is said at once. */
import type { FailoverRequest } from "../../api/failover-request.ts";
import type { Demand } from "../lease/demand.ts";
import { isPrimary, type RolloutMember } from "../rollout/view.ts";
import { notElectable, unwell } from "../rollout/wellness.ts";

export interface FailoverFacts {
  readonly request: FailoverRequest;
  readonly shard: readonly RolloutMember[];
  /** Shards that there are. */
  readonly shards: number;
}

const SHARD_EXISTS: Demand<FailoverFacts> = {
  name: "shard-exists",
  unmet: ({ request, shard, shards }) =>
    shard.length > 0 ? undefined : `there is no shard ${request.shard}: there are 0 to ${shards - 1}`,
};

const SHARD_LED: Demand<FailoverFacts> = {
  name: "shard-led",
  unmet: ({ request, shard }) =>
    shard.filter(isPrimary).length === 1 ? undefined : `shard ${request.shard} has no primary that could hand over`,
};

const SUCCESSOR_IS_REPLICA: Demand<FailoverFacts> = {
  name: "successor-is-replica",
  unmet: ({ request, shard }) => {
    if (request.to === undefined) return undefined;
    const successor = shard.find(({ name }) => name === request.to);
    if (successor === undefined) return `${request.to} is no node of shard ${request.shard}`;
    return isPrimary(successor) ? `${request.to} leads shard ${request.shard} already` : undefined;
  },
};

function successorsOf({ request, shard }: Pick<FailoverFacts, "request" | "shard">): readonly RolloutMember[] {
  return shard.filter((member) => !isPrimary(member) && (request.to ?? member.name) === member.name);
}

const SUCCESSOR_IN_SYNC: Demand<FailoverFacts> = {
  name: "successor-in-sync",
  unmet: ({ request, shard }) => {
    const reasons = successorsOf({ request, shard }).map(unwell);
    if (reasons.includes(undefined)) return undefined;
    return `shard ${request.shard} has no replica that could lead${reasons.length === 0 ? "" : `: ${reasons.join(", ")}`}`;
  },
};

/** What a moment brings is waited for, so long; then it is said like the rest. */
export const PATIENCE_MS: Readonly<Record<string, number>> = { "successor-electable": 10_000 };

/** An election that is lost is held again after a second, in which writes wait. */
const SUCCESSOR_ELECTABLE: Demand<FailoverFacts> = {
  name: "successor-electable",
  unmet: (facts) => {
    const stranger = successorsOf(facts).find((each) => unwell(each) === undefined && each.answer?.electable !== true);
    return stranger === undefined ? undefined : notElectable(stranger);
  },
};

export const FAILOVER_DEMANDS: readonly Demand<FailoverFacts>[] = [
  SHARD_EXISTS,
  SHARD_LED,
  SUCCESSOR_IS_REPLICA,
  SUCCESSOR_IN_SYNC,
  SUCCESSOR_ELECTABLE,
];
