/**
 * A server that has won its election, and whose agent does not get the lease while the promises bind. From then on voters
 * may give the lease to another, the old primary among them; but the winner's epoch is higher, and as soon as the others
 * hear of it, the cluster follows it and throws away what was written under that lease. So it has to leave the cluster's
 * bus before: it saves, ends, and comes back through the gate.
 */
import { type CandidateState, NO_CANDIDATE } from "./candidate.ts";
import { type Context, isRunningPrimary, type Output } from "./context.ts";

export function tickWinner(context: Context, before: CandidateState, leased: boolean): [CandidateState, Output[]] {
  const { electionUntil } = before;
  if (electionUntil === undefined || !context.rules.winnerNeedsLease) return [before, []];
  const { phase } = context.server;
  // Others have granted it the lease by now: what they promised counts no more, nor does an answer that is still on its way.
  if (leased) return [NO_CANDIDATE, []];
  if (phase === "absent" || phase === "gated") return [NO_CANDIDATE, []];
  if (!isRunningPrimary(context.server) || context.now <= electionUntil) return [before, []];
  return [before, [{ do: "stop", why: "it won an election and did not get the write lease in time" }]];
}
