/**
 * A failover by hand, once for every id. That it begins is written down before the agent is asked: an operator that dies
 * in between is followed by one that sees who leads and either tells it or asks again, which does no harm.
 */
import { firstUnmet } from "../lease/demand.ts";
import type { HandoverStep } from "../rollout/step.ts";
import { isPrimary, type RolloutMember } from "../rollout/view.ts";
import { FRESH_MS } from "../rollout/wellness.ts";
import { FAILOVER_DEMANDS, PATIENCE_MS } from "./demands.ts";
import { type FailoverOutcome, type FailoverStatus, type FailoverView, isOver } from "./view.ts";

export interface FailoverPlan {
  readonly steps: readonly HandoverStep[];
  /** To be written down. */
  readonly status: FailoverStatus | undefined;
  /** Id of the one under way. */
  readonly underWay: string | undefined;
}

/** A request that nobody took up in time is not carried out later, when nobody expects it. */
const STALE_MS = 5 * 60_000;
/** A shard that nobody leads for this long after the request is not waited for. */
const LEADERLESS_MS = 60_000;

export function planFailover(view: FailoverView): FailoverPlan {
  const { request, recorded } = view;
  const known = recorded?.id === request.id ? recorded : undefined;
  if (known !== undefined && isOver(known)) return { steps: [], status: known, underWay: undefined };
  const plan = known?.phase === "Running" ? goOn(view, known) : begin(view);
  const status = { ...plan.status, message: plan.status.message.slice(0, 1024) };
  return { steps: plan.steps, status, underWay: isOver(status) ? undefined : request.id };
}

interface Next {
  readonly steps: readonly HandoverStep[];
  readonly status: FailoverStatus;
}

function begin({ request, members, now }: FailoverView): Next {
  const { id, at } = request;
  const base = { id, shard: request.shard, ...(request.to === undefined ? {} : { to: request.to }), at };
  const next = (phase: FailoverStatus["phase"], message: string, from?: string): Next => ({
    steps: [],
    status: { ...base, ...(from === undefined ? {} : { from }), phase, message },
  });
  if (now.getTime() - Date.parse(at) > STALE_MS) {
    return next("Failed", "it was asked for more than five minutes ago and nobody took it up; ask again");
  }
  const shard = members.filter((member) => member.shard === request.shard);
  if (shard.some(isNotKnownYet)) return next("Pending", "the agents of the shard are being asked");
  const shards = new Set(members.map((member) => member.shard)).size;
  const hold = firstUnmet(FAILOVER_DEMANDS, { request, shard, shards });
  if (hold !== undefined) {
    const passes = now.getTime() - Date.parse(at) < (PATIENCE_MS[hold.name] ?? 0);
    return passes ? next("Pending", hold.reason) : next("Failed", `nothing was done: ${hold.reason}`);
  }
  const from = shard.find(isPrimary)?.name ?? "";
  return next("Running", `${from} hands over to ${request.to ?? "the replica with the newest copy"}`, from);
}

/** An old answer is no ground to say no. */
function isNotKnownYet({ answer, silence }: RolloutMember): boolean {
  return answer === undefined ? silence === "" : answer.ageMs > FRESH_MS;
}

function goOn({ request, members, outcome, asked, now }: FailoverView, known: FailoverStatus): Next {
  const primary = members.find((member) => member.shard === known.shard && isPrimary(member));
  if (outcome?.request === request.id) return { steps: [], status: concluded(known, outcome, primary) };
  if (asked.has(known.from ?? "")) return { steps: [], status: known };
  if (primary === undefined) {
    const late = now.getTime() - Date.parse(request.at) > LEADERLESS_MS;
    const message = `nobody leads shard ${known.shard}`;
    return { steps: [], status: late ? { ...known, phase: "Failed", message } : known };
  }
  if (primary.name !== known.from) return { steps: [], status: unmeasured(known, primary.name) };
  return { steps: [handover(primary, request)], status: known };
}

function handover({ name, answer }: RolloutMember, { id, to = "" }: FailoverView["request"]): HandoverStep {
  return { do: "handover", node: name, lane: name, nodeId: answer?.nodeId ?? "", successor: to, request: id };
}

function unmeasured(known: FailoverStatus, to: string): FailoverStatus {
  const message = `${to} leads shard ${known.shard}; for how long writes waited is not known, because the answer was lost`;
  return { ...known, to, phase: "Done", message };
}

function concluded(
  known: FailoverStatus,
  { result, successor, writesWaitedMs, message }: FailoverOutcome,
  primary: RolloutMember | undefined,
): FailoverStatus {
  if (result === "handed-over") {
    const to = successor === "" ? known.to : successor;
    const text = `${to ?? "the successor"} leads shard ${known.shard}; writes waited ${writesWaitedMs} ms`;
    return { ...known, ...(to === undefined ? {} : { to }), phase: "Done", writesWaitedMs, message: text };
  }
  if (result !== "refused" && primary !== undefined && primary.name !== known.from)
    return unmeasured(known, primary.name);
  const why = message === "" ? "its agent did not say why" : message;
  return { ...known, phase: "Failed", message: `${known.from ?? "the primary"} leads on: ${why}` };
}
