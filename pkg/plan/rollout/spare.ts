/**
 * Spares: with `update.strategy: Surge` a shard gets one more replica, made as the spec asks, before any of its pods is
 * touched, so that it never has fewer copies than the spec asks for. When all of its own pods are as asked, the spare goes.
 * One that leads by then hands over first. A spec that goes back, or another strategy, makes it go as well.
 */
import { isSpare } from "../objects/members.ts";
import type { Candidate } from "./candidate.ts";
import { isPrimary, type RolloutMember, type RolloutView } from "./view.ts";
import { unwell } from "./wellness.ts";

export function spareIn(shard: readonly RolloutMember[]): RolloutMember | undefined {
  return shard.find(isSpare);
}

/** Whether pods of it have still to be replaced under the eyes of a spare. */
export function wantsSpare({ strategy }: Pick<RolloutView, "strategy">, shard: readonly RolloutMember[]): boolean {
  return strategy === "Surge" && shard.some((member) => member.outdated && !isSpare(member));
}

/** What is to be done about the spare before anything else in the shard; undefined when nothing is. */
export function spareTurn(view: RolloutView, shard: readonly RolloutMember[]): Candidate | undefined {
  const spare = spareIn(shard);
  if (!wantsSpare(view, shard)) {
    if (spare === undefined || spare.going) return undefined;
    return { turn: isPrimary(spare) ? "hand-over" : "retire", member: spare, shard };
  }
  // What holds nothing is cured without waiting for anybody.
  const first = shard.find(({ outdated, holdsNothing, going }) => outdated && !holdsNothing && !going);
  return spare === undefined && first !== undefined ? { turn: "add-spare", member: first, shard } : undefined;
}

/** Who leads next: one that stays and is as the spec asks. Empty when there is none: then the newest copy does. */
export function successorIn(shard: readonly RolloutMember[]): string {
  const heir = shard.find(
    (member) => !member.outdated && !isSpare(member) && !isPrimary(member) && unwell(member) === undefined,
  );
  return heir?.name ?? "";
}
