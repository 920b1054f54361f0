/** What is demanded of the rest of the cluster, so that not too much of it is away at once. */

import { SLOTS } from "../formation/slots.ts";
import type { Demand } from "../lease/demand.ts";
import { chooseVoters } from "../lease/voters.ts";
import { isSpare } from "../objects/members.ts";
import type { Candidate } from "./candidate.ts";
import type { StepFacts } from "./demands.ts";
import { spareIn } from "./spare.ts";
import { isPrimary, type RolloutMember } from "./view.ts";
import { unwell } from "./wellness.ts";

function ofOtherShards({ view, member }: StepFacts): readonly RolloutMember[] {
  return view.members.filter(({ shard }) => shard !== member.shard);
}

/** Shards beside this one in which something is away or about to go, with the reason. */
function disturbed(facts: StepFacts): ReadonlyMap<number, string> {
  const reasons = new Map(facts.taken.map(({ member }) => [member.shard, `it is the turn of ${member.name}`]));
  for (const member of ofOtherShards(facts)) {
    const reason = unwell(member) ?? (isSpare(member) ? `${member.name} stands in for its pods` : undefined);
    if (reason !== undefined && !reasons.has(member.shard))
      reasons.set(member.shard, `shard ${member.shard}: ${reason}`);
  }
  return reasons;
}

function handingOver({ taken }: StepFacts): ReadonlyMap<number, string> {
  const others = taken.filter(({ turn }) => turn === "hand-over");
  return new Map(others.map(({ member }) => [member.shard, `it is the turn of ${member.name}`]));
}

function first(reasons: ReadonlyMap<number, string>): string {
  return [...reasons.values()][0] ?? "";
}

/** Until one new pod is well nobody knows whether any will be: they do not go side by side. */
const FIRST_POD_WELL: Demand<StepFacts> = {
  name: "first-pod-well",
  unmet: (facts) => {
    if (facts.view.members.some((member) => !member.outdated && unwell(member) === undefined)) return undefined;
    const busy = disturbed(facts);
    return busy.size === 0 ? undefined : `the first new pod is waited for: ${first(busy)}`;
  },
};

/** A handover takes nothing away: it need not wait for pods of other shards to come back, only for other handovers. */
const SHARDS_AT_ONCE: Demand<StepFacts> = {
  name: "shards-at-once",
  unmet: (facts) => {
    const { maxUnavailable } = facts.view;
    const busy = facts.turn === "hand-over" ? handingOver(facts) : disturbed(facts);
    if (busy.size < maxUnavailable) return undefined;
    return `spec.update.maxUnavailable is ${maxUnavailable}: ${first(busy)}`;
  },
};

/** `canarySeconds` after the first shard is done, counted from when the last of its pods became ready. */
const FIRST_SHARD_WATCHED: Demand<StepFacts> = {
  name: "first-shard-watched",
  unmet: ({ view, shard }) => {
    const { canarySeconds, members, now, strategy } = view;
    if (strategy === "Surge" || canarySeconds === 0 || shard.some(({ outdated }) => !outdated)) return undefined;
    const shards = [...Map.groupBy(members, (member) => member.shard).values()];
    const done = shards.filter((all) => all.every(({ outdated }) => !outdated));
    const waits = done.map((all) => {
      const since = Math.max(...all.map(({ readySince }) => readySince?.getTime() ?? now.getTime()));
      return since + canarySeconds * 1000 - now.getTime();
    });
    if (done.length === 0 && shards.every((all) => all.every(({ outdated, letGo }) => outdated && !letGo)))
      return undefined;
    const left = Math.min(...waits, Infinity);
    if (left <= 0) return undefined;
    const rest = Number.isFinite(left) ? `for ${Math.ceil(left / 1000)} s more` : "when it is done";
    return `spec.update.canarySeconds is ${canarySeconds}: the first shard is watched ${rest}`;
  },
};

/** With spares the first of them is watched, before any pod that was there is touched. */
const SPARE_WATCHED: Demand<StepFacts> = {
  name: "spare-watched",
  unmet: ({ view, shard, turn }) => {
    const { canarySeconds, members, now, strategy } = view;
    const begun = members.some((member) => !member.outdated && !isSpare(member));
    if (strategy !== "Surge" || canarySeconds === 0 || begun || turn === "add-spare") return undefined;
    const since = spareIn(shard)?.readySince ?? now;
    const left = since.getTime() + canarySeconds * 1000 - now.getTime();
    if (left <= 0) return undefined;
    return `spec.update.canarySeconds is ${canarySeconds}: the first new pod is watched for ${Math.ceil(left / 1000)} s more`;
  },
};

/** Turns that take no pod away. */
const HARMLESS: ReadonlySet<Candidate["turn"]> = new Set(["hand-over", "add-spare"]);

/** Writes stop when no majority of the voters answers; a pod that is away does not vote. */
const VOTERS_LEFT: Demand<StepFacts> = {
  name: "voters-left",
  unmet: (facts) => {
    const members = facts.view.members.map(({ name, shard, member }) => ({ node: name, shard, member }));
    const voters = new Set(chooseVoters(members));
    const leaving = [facts, ...facts.taken].filter(({ turn }) => !HARMLESS.has(turn)).map(({ member }) => member);
    const stay = facts.view.members.filter((each) => voters.has(each.name) && unwell(each) === undefined);
    const left = stay.filter((each) => !leaving.includes(each)).length;
    if (left > voters.size / 2) return undefined;
    return `of the ${voters.size} agents that say who may write only ${left} would be left`;
  },
};

/** A shard that is away with its only pod is counted by maxUnavailable. */
const ALL_SLOTS_SERVED: Demand<StepFacts> = {
  name: "all-slots-served",
  unmet: (facts) => {
    const { members } = facts.view;
    const served = members
      .filter((member) => isPrimary(member))
      .reduce((sum, { answer }) => sum + (answer?.ownSlots ?? 0), 0);
    return served === SLOTS || facts.turn === "replace-alone" ? undefined : `${served} of ${SLOTS} slots are served`;
  },
};

export const AWAY_DEMANDS: readonly Demand<StepFacts>[] = [
  ALL_SLOTS_SERVED,
  SHARDS_AT_ONCE,
  FIRST_POD_WELL,
  FIRST_SHARD_WATCHED,
  SPARE_WATCHED,
  VOTERS_LEFT,
];
