/** What is demanded of the shard itself, so that its last copy is never taken. */
import type { Demand } from "../lease/demand.ts";
import type { StepFacts } from "./demands.ts";
import { isPrimary, type RolloutMember } from "./view.ts";
import { notElectable, unwell } from "./wellness.ts";

function others({ shard, member }: StepFacts): readonly RolloutMember[] {
  return shard.filter((each) => each !== member);
}

/** A bad image or a bad setting shows here: at the first pod that has it. */
const NEW_PODS_WELL: Demand<StepFacts> = {
  name: "new-pods-well",
  unmet: (facts) => {
    const reasons = others(facts)
      .filter(({ outdated }) => !outdated)
      .map(unwell)
      .filter((reason) => reason !== undefined);
    if (reasons.length === 0) return undefined;
    return `${reasons[0]}; it has what the spec asks for, and the others stay as they are until it is well, or until the spec goes back`;
  },
};

const SHARD_WHOLE: Demand<StepFacts> = {
  name: "shard-whole",
  unmet: (facts) => {
    const reasons = others(facts)
      .map(unwell)
      .filter((reason) => reason !== undefined);
    return reasons.length === 0 ? undefined : `shard ${facts.member.shard}: ${reasons[0]}`;
  },
};

const SHARD_LED: Demand<StepFacts> = {
  name: "shard-led",
  unmet: ({ shard, member }) => {
    const primaries = shard.filter(isPrimary);
    if (primaries.length === 1) return undefined;
    return `shard ${member.shard} has ${primaries.length} primaries`;
  },
};

const PRIMARY_WELL: Demand<StepFacts> = {
  name: "primary-well",
  unmet: ({ turn, member }) => (turn === "hand-over" ? unwell(member) : undefined),
};

/** In-sync copies that stay: the primary that a replica follows, or the replicas that a primary hands over to. */
const ANOTHER_COPY: Demand<StepFacts> = {
  name: "another-copy",
  unmet: (facts) => {
    const { member, shard, turn, view } = facts;
    if (turn === "add-spare") return undefined;
    if (turn === "replace-alone") {
      return view.keepsData
        ? undefined
        : `${member.name} has the only copy of shard ${member.shard}, and it is not on a volume: it would be lost with the pod; set spec.replicasPerMaster in a new ValkeyCluster, or delete the pod yourself if you can do without the data`;
    }
    const primary = shard.find(isPrimary)?.answer?.nodeId;
    const copies = others(facts).filter(
      (each) => unwell(each) === undefined && (isPrimary(each) || each.answer?.primaryId === primary),
    );
    return copies.length > 0 ? undefined : `no other copy of shard ${member.shard} is in sync`;
  },
};

/**
 * The successor has to win an election: one that is lost is held again after a second, in which writes wait. A copy that
 * runs on is waited for, so that the one with the newest data may be taken.
 */
const SUCCESSOR_ELECTABLE: Demand<StepFacts> = {
  name: "successor-electable",
  unmet: (facts) => {
    if (facts.turn !== "hand-over") return undefined;
    const stranger = others(facts).find(({ answer }) => answer?.electable !== true);
    return stranger === undefined ? undefined : notElectable(stranger);
  },
};

/** A spare goes when everybody else is well, whatever the window: it takes nothing with it. */
export const RETIRE_DEMANDS: readonly Demand<StepFacts>[] = [SHARD_LED, SHARD_WHOLE, ANOTHER_COPY];

export const COPY_DEMANDS: readonly Demand<StepFacts>[] = [
  NEW_PODS_WELL,
  SHARD_LED,
  SHARD_WHOLE,
  PRIMARY_WELL,
  ANOTHER_COPY,
  SUCCESSOR_ELECTABLE,
];
