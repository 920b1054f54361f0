/** Whose agents grant leases. */
import { votersOf } from "../objects/members.ts";
import type { Member } from "./context.ts";

export function chooseVoters(members: readonly Member[]): readonly string[] {
  return votersOf(members).map(({ node }) => node);
}
