/** What an agent does as time passes and as its server changes: every part looks at the same moment, in a fixed order. */
import type { AgentState, Step } from "./agent-core.ts";
import { type CandidateView, isOrphan, noteOrphan, promoteIfPromised, tickCandidate } from "./candidate.ts";
import { type Context, hearers, type Output, standingOf } from "./context.ts";
import { arriveAtGate, leaderOf, tickGate } from "./gate.ts";
import { tickHandover, writesWait } from "./handover.ts";
import { holdsLease, tickHolder } from "./holder.ts";
import { laterMemory, type ShardMemory } from "./memory.ts";
import { type Line, question } from "./post.ts";
import { askMemories, recallIfEnough } from "./recall.ts";
import type { Rules } from "./rules.ts";
import { askAllStandings, askStandings, freshOfAll, freshStandings, type Pace } from "./survey.ts";
import { probeSilentHolders, votedShard, withShard } from "./voter.ts";
import { tickWinner } from "./winner.ts";

type Part = (context: Context, state: AgentState) => [AgentState, readonly Output[]];

const PARTS: readonly Part[] = [
  voterPart,
  handoverPart,
  surveyPart,
  holderPart,
  winnerPart,
  releasePart,
  candidatePart,
  gatePart,
];

export function tick(before: AgentState, rules: Rules, now: number): Step {
  const { self, deployment, server, lost, stopped, leaving } = before;
  const context: Context = { self, deployment, rules, now, server, lost, stopped, leaving };
  let state: AgentState = { ...before, candidate: noteOrphan(context, before.candidate, ownMemory(before)) };
  const outputs: Output[] = [];
  for (const part of PARTS) {
    const [after, produced] = part(context, state);
    state = after;
    outputs.push(...produced);
  }
  const [promoted, promotions] = promotion(context, state);
  return [promoted, [...outputs, ...promotions]];
}

function lineOf(state: AgentState): Line {
  return { seq: state.seq, epoch: state.server.tableEpoch };
}

function ownMemory(state: AgentState): ShardMemory {
  return votedShard(state.voter, state.self.shard).memory;
}

/** What another voter knows of the own shard is known here too from now on. */
export function adoptMemory(state: AgentState, told: ShardMemory): AgentState {
  const { shard } = state.self;
  const voted = votedShard(state.voter, shard);
  const memory = laterMemory(voted.memory, told);
  return memory === voted.memory ? state : { ...state, voter: withShard(state.voter, shard, { ...voted, memory }) };
}

function voterPart(context: Context, state: AgentState): Step {
  const [recall, asks] = askMemories(context, lineOf(state), state.voter, state.recall);
  const [voter, probes] = probeSilentHolders(context, recallIfEnough(context, state.voter, recall));
  return [{ ...state, recall, voter }, [...asks, ...probes]];
}

/** Peers are asked while something depends on them: an orphan, a server at the gate, a handover. */
function surveyPart(context: Context, state: AgentState): Step {
  const orphan = isOrphan(context, state.candidate, ownMemory(state));
  const gated = context.server.phase === "gated";
  if (!orphan && !gated && state.handover.stage === "none") return [state, []];
  const [survey, asks] = askStandings(context, lineOf(state), state.survey, paceOf(context, state));
  if (!orphan || asks.length === 0) return [{ ...state, survey }, asks];
  const others = context.deployment.voters.filter((node) => node !== context.self.node);
  const recalls = others.map((to) => question(context, lineOf(state), to, { kind: "ask-memory" }));
  // An election that is not won at once may be one in which too few can vote.
  const elects = state.candidate.begunAt !== undefined;
  const [wider, more] = elects ? askAllStandings(context, lineOf(state), survey) : [survey, []];
  return [{ ...state, survey: wider }, [...asks, ...recalls, ...more]];
}

function paceOf(context: Context, { handover, gate, candidate }: AgentState): Pace {
  const { askEveryMs, catchUpEveryMs } = context.rules.timing;
  const arrived = context.server.phase === "gated" ? arriveAtGate(context, gate).since : 0;
  const since = Math.max(handover.fencedAt ?? handover.since, arrived, candidate.orphanSince ?? 0);
  return { since, everyMs: handover.stage === "catching-up" ? catchUpEveryMs : askEveryMs };
}

function handoverPart(context: Context, state: AgentState): Step {
  const since = state.handover.fencedAt ?? state.handover.since;
  const peers = freshStandings(context, state.survey, since);
  const [handover, outputs] = tickHandover(context, lineOf(state), state.handover, peers);
  return [{ ...state, handover }, outputs];
}

function holderPart(context: Context, state: AgentState): Step {
  const waits = writesWait(state.handover);
  const gaveLeaseAway = state.handover.stage === "given-away";
  const { correspondents } = state;
  const view = { memory: ownMemory(state), correspondents, writesWait: waits, gaveLeaseAway };
  const [holder, outputs] = tickHolder(context, lineOf(state), state.holder, view);
  return [{ ...state, holder }, outputs];
}

function winnerPart(context: Context, state: AgentState): Step {
  const [candidate, outputs] = tickWinner(context, state.candidate, holdsLease(context, state.holder));
  return [{ ...state, candidate }, outputs];
}

/** A server whose process is gone writes no more: its agent says so at once, and the lease is free. */
function releasePart(context: Context, state: AgentState): Step {
  const { grant } = votedShard(state.voter, state.self.shard);
  const stopped = context.server.phase === "absent" || context.server.phase === "gated";
  const concerned = grant === undefined || grant.holder === context.self.node;
  if (!stopped || !concerned || !context.server.wasPrimary) return [state, []];
  if (context.now - state.releasedAt < context.rules.timing.askEveryMs) return [state, []];
  const body = { kind: "release" as const, successor: undefined, offset: context.server.offset, stopped: true };
  const outputs = hearers(context).map((to) => question(context, lineOf(state), to, body));
  return [{ ...state, releasedAt: context.now }, outputs];
}

function candidateView(context: Context, state: AgentState): CandidateView {
  const own = standingOf(context, holdsLease(context, state.holder));
  const since = state.candidate.orphanSince ?? context.now;
  const peers = freshStandings(context, state.survey, since);
  return { own, memory: ownMemory(state), peers, spoken: freshOfAll(context, state.survey, since) };
}

function candidatePart(context: Context, state: AgentState): Step {
  // A candidate asks by all that it has learned; what it may do with that is for the demands on its copy to say.
  const epoch = Math.max(state.server.tableEpoch, ownMemory(state).epoch);
  const line = { seq: state.seq, epoch };
  const [candidate, outputs] = tickCandidate(context, line, state.candidate, candidateView(context, state));
  return [{ ...state, candidate }, outputs];
}

export function promotion(context: Context, state: AgentState): Step {
  if (state.candidate.askingSince === undefined) return [state, []];
  const [candidate, outputs] = promoteIfPromised(context, state.candidate, candidateView(context, state));
  return [{ ...state, candidate }, outputs];
}

function gatePart(context: Context, state: AgentState): Step {
  const arrived = arriveAtGate(context, state.gate);
  if (context.server.phase !== "gated") return [{ ...state, gate: arrived }, []];
  const own = standingOf(context, false);
  const peers = freshStandings(context, state.survey, arrived.since);
  const facts = { context, own, peers, leader: leaderOf(context, peers) };
  const [gate, outputs] = tickGate(context, arrived, facts);
  return [{ ...state, gate }, outputs];
}
