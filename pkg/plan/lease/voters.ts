/** Whose agents grant leases. */
import { isSpare } from "../objects/members.ts";
import type { Member } from "./context.ts";

/** More voters than this add messages and no safety that matters. */
const MOST_VOTERS = 9;

/**
 * An odd number of agents, one of each shard before a second of any: of six voters four would be needed, of five only
 * three. Who votes does not depend on who is primary, so that a failover never changes it and any two majorities share a
 * voter. Nor does it depend on who is there for a while only: spares never vote.
 */
export function chooseVoters(members: readonly Member[]): readonly string[] {
  const inOrder = members
    .filter((member) => !isSpare(member))
    .toSorted((a, b) => a.member - b.member || a.shard - b.shard);
  const most = Math.min(MOST_VOTERS, inOrder.length);
  return inOrder.slice(0, most - Number(most % 2 === 0)).map(({ node }) => node);
}
