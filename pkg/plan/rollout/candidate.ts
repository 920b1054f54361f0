/**
 * Whose turn it is in a shard: what runs nothing is cured at once, then replicas, then the primary hands over and is a
 * replica like the others. Whether the turn may be taken is for the demands to say.
 */
import { isSpare } from "../objects/members.ts";
import { spareTurn } from "./spare.ts";
import { isPrimary, type RolloutMember, type RolloutView } from "./view.ts";
import { unwell } from "./wellness.ts";

export type Turn =
  /** Its server never ran or cannot run: a new pod may be what helps, and takes nothing away. */
  | "cure"
  | "replace"
  /** A primary that has replicas: its place goes to one of them. */
  | "hand-over"
  /** A primary that has none: the shard is away while its pod is. */
  | "replace-alone"
  /** A spare comes; the member is the one that it stands in for first. */
  | "add-spare"
  /** A spare goes: its shard is as the spec asks without it. */
  | "retire";

export interface Candidate {
  readonly turn: Turn;
  readonly member: RolloutMember;
  /** Its whole shard. */
  readonly shard: readonly RolloutMember[];
}

export function cures(members: readonly RolloutMember[]): readonly Candidate[] {
  const shards = Map.groupBy(members, ({ shard }) => shard);
  return members
    .filter((member) => member.outdated && member.holdsNothing && !member.going)
    .map((member) => ({ turn: "cure", member, shard: shards.get(member.shard) ?? [] }));
}

/** The next of every shard that has one, shards that have begun first: what is begun is ended before more is begun. */
export function nextTurns(view: RolloutView): readonly Candidate[] {
  const shards = [...Map.groupBy(view.members, ({ shard }) => shard).values()];
  const turns = shards.flatMap((shard) => spareTurn(view, shard) ?? nextOfShard(shard));
  const begun = ({ shard }: Candidate) => shard.some(({ outdated, letGo }) => !outdated || letGo);
  return [...turns.filter(begun), ...turns.filter((turn) => !begun(turn))];
}

function nextOfShard(shard: readonly RolloutMember[]): readonly Candidate[] {
  const [member] = shard
    .filter(({ outdated, holdsNothing, going }) => outdated && !holdsNothing && !going)
    .toSorted(byTurn);
  if (member === undefined) return [];
  if (!isPrimary(member)) return [{ turn: "replace", member, shard }];
  return [{ turn: shard.length === 1 ? "replace-alone" : "hand-over", member, shard }];
}

/** One that was let go already stays the next, then the spare, then who is no use as it is; primaries come last. */
function byTurn(a: RolloutMember, b: RolloutMember): number {
  const well = (member: RolloutMember) => Number(unwell(member) === undefined);
  return (
    Number(isPrimary(a)) - Number(isPrimary(b)) ||
    Number(b.letGo) - Number(a.letGo) ||
    Number(isSpare(b)) - Number(isSpare(a)) ||
    well(a) - well(b) ||
    a.member - b.member
  );
}
