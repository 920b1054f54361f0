/**
 * How the nodes of a cluster become one, and become one again: from what their agents say alone, whatever was done or
 * half done before. Every step may be lost, late or repeated; the next plan is made from what is there then.
 *
 * - Slots are given out only when every member of the shard has answered or is lost and none has data or slots.
 * - A replica is promoted only when every other member of its shard is proven stopped or older.
 * - Without enough primaries to vote, promotions go without a vote, one at a time in the whole cluster.
 * - Ids are forgotten only while every shard is led.
 */
import { planForgetting } from "./forget.ts";
import { planMeetings } from "./meet.ts";
import { lostInMs, ownsSlots } from "./member.ts";
import { planPushes } from "./push.ts";
import { quorumHold } from "./quorum.ts";
import { type Promotion, planShard, type Runner, type ShardPlan, sceneOf } from "./shard.ts";
import type { FormationHold, FormationPlan, FormationStep, PromoteStep } from "./step.ts";
import type { FormationInput } from "./view.ts";

const WAIT_MS = 1000;

export function planFormation(input: FormationInput): FormationPlan {
  const unasked = input.members.filter(({ contact }) => contact.known === "not-asked");
  if (unasked.length > 0) return waitForAnswers(unasked.map(({ name }) => name));
  const scene = sceneOf(input);
  const { runners } = scene;
  const shards = Array.from({ length: input.shards }, (_, index) => planShard(scene, index));
  const led = new Set(shards.filter(({ led }) => led).map(({ index }) => index));
  const promotions = planPromotions(input, runners, shards);
  const forgetting = led.size === input.shards ? planForgetting(input, runners) : { steps: [], holds: [] };
  const steps: FormationStep[] = [
    ...planPushes(input),
    ...shards.flatMap(({ steps }) => steps),
    ...promotions.steps,
    ...planMeetings(runners, led),
    ...forgetting.steps,
  ];
  const quorum = quorumHold(input, led);
  const holds = [
    ...(quorum === undefined ? [] : [quorum]),
    ...shards.flatMap((shard) => shard.holds),
    ...promotions.holds,
    ...forgetting.holds,
  ];
  return { steps, holds, closely: isUnderWay(input, steps, holds), requeueAfterMs: requeue(input, steps, holds) };
}

function waitForAnswers(names: readonly string[]): FormationPlan {
  const hold = { name: "agents-not-asked", reason: `agents that were not asked yet: ${namesText(names)}` };
  return { steps: [], holds: [hold], closely: true, requeueAfterMs: WAIT_MS };
}

function namesText(names: readonly string[]): string {
  const shown = names.slice(0, 5).join(", ");
  return names.length > 5 ? `${shown} and ${names.length - 5} more` : shown;
}

interface Promotions {
  readonly steps: readonly PromoteStep[];
  readonly holds: readonly FormationHold[];
}

function planPromotions(input: FormationInput, runners: readonly Runner[], shards: readonly ShardPlan[]): Promotions {
  const wanted = shards.flatMap(({ index, promotion }) => (promotion === undefined ? [] : [{ index, promotion }]));
  const byVote = wanted.filter(({ promotion }) => canVote(promotion, runners));
  const byTakeover = wanted.filter(({ promotion }) => !canVote(promotion, runners));
  const underWay = input.members.some(({ busy }) => busy === "promote");
  const turn = underWay || byVote.length > 0 ? [] : byTakeover.slice(0, 1);
  const waiting = byTakeover.filter((each) => !turn.includes(each));
  return {
    steps: [...byVote, ...turn].map(({ promotion }) => promoteStep(promotion, !canVote(promotion, runners))),
    holds: waiting.map(({ index, promotion }) => ({
      name: "takeover-in-turn",
      reason: `shard ${index}: too few primaries run to vote for ${promotion.node}; shards take over one after the other`,
      shard: index,
    })),
  };
}

/** Whether a majority of the primaries that hold slots, as the candidate knows them, runs and can be heard by it. */
function canVote({ table }: Promotion, runners: readonly Runner[]): boolean {
  const holders = table.nodes.filter(({ slots, role }) => role === "primary" && slots.length > 0);
  const running = new Set(runners.filter((runner) => ownsSlots(runner.table)).map((runner) => runner.table.id));
  const voters = holders.filter(({ id, connected, failed }) => connected && !failed && running.has(id));
  return voters.length > holders.length / 2;
}

function promoteStep({ node, table, primaryId }: Promotion, withoutVote: boolean): PromoteStep {
  return { do: "promote", node, lane: node, nodeId: table.id, primaryId, withoutVote };
}

/** Once everybody has a place, reports and heartbeats are enough. */
function isUnderWay(
  { members }: FormationInput,
  steps: readonly FormationStep[],
  holds: readonly FormationHold[],
): boolean {
  return steps.length > 0 || holds.length > 0 || members.some(({ busy }) => busy !== undefined);
}

function requeue(
  { members }: FormationInput,
  steps: readonly FormationStep[],
  holds: readonly FormationHold[],
): number | undefined {
  if (steps.length > 0 || holds.length > 0) return WAIT_MS;
  const losses = members.map(lostInMs).filter((ms) => ms !== undefined);
  return losses.length === 0 ? undefined : Math.max(1, Math.min(...losses));
}
