/**
 * An agent's part in who may write, put together: `step` takes what has happened and the time on the boot-time clock, and
 * gives the new state and what to do, in order. It does no I/O, reads no clock and draws no random numbers, so that the
 * agent and the simulator run the same decisions.
 */

import { answer } from "./answer.ts";
import { type CandidateState, NO_CANDIDATE, takeHandedLease, takePromise } from "./candidate.ts";
import type { Context, Deployment, Output, Persisted, Self, ServerSight } from "./context.ts";
import { type Correspondents, meet, NOBODY_KNOWN } from "./correspondents.ts";
import type { Hold } from "./demand.ts";
import { type GateState, NO_GATE } from "./gate.ts";
import { beginHandover, type HandoverState, NO_HANDOVER } from "./handover.ts";
import { bornHolder, type HolderState, takeGrant, takeRefusal } from "./holder.ts";
import { NOTHING_KNOWN } from "./memory.ts";
import type { Message, Question, Reply } from "./message.ts";
import { question } from "./post.ts";
import { NO_RECALL, type RecallState, recallIfEnough, takeMemory } from "./recall.ts";
import type { Rules } from "./rules.ts";
import { NO_SURVEY, type SurveyState, takeStanding } from "./survey.ts";
import { adoptMemory, promotion, tick } from "./tick.ts";
import { bornVoter, remembered, takeAgentGone, takeProbe, takeRelease, type VoterState } from "./voter.ts";

export interface AgentState {
  readonly self: Self;
  readonly deployment: Deployment;
  readonly server: ServerSight;
  readonly lost: ReadonlySet<string>;
  readonly stopped: ReadonlySet<string>;
  readonly leaving: boolean;
  readonly seq: number;
  readonly voter: VoterState;
  readonly holder: HolderState;
  readonly candidate: CandidateState;
  readonly survey: SurveyState;
  readonly recall: RecallState;
  readonly gate: GateState;
  readonly handover: HandoverState;
  readonly correspondents: Correspondents;
  readonly releasedAt: number;
  readonly persisted: Persisted;
}

export type Input =
  /** Now and then, in time for what is due, and at once when the server ends, answers again or changes its role. */
  | { readonly kind: "tick"; readonly server: ServerSight }
  | { readonly kind: "message"; readonly message: Message }
  /** A node's server answered a probe. */
  | { readonly kind: "answered"; readonly node: string }
  /** A connection to another agent was closed by its end. */
  | { readonly kind: "agent-gone"; readonly node: string }
  | { readonly kind: "sightings"; readonly lost: readonly string[]; readonly stopped: readonly string[] }
  /** The pod is going: hand over if this is the primary. */
  | { readonly kind: "leave" }
  /** Somebody wants another member to lead; the pod stays. */
  | { readonly kind: "hand-over"; readonly to: string | undefined };

export interface Birth {
  readonly self: Self;
  readonly deployment: Deployment;
  readonly server: ServerSight;
  readonly now: number;
  /** What an earlier agent of this pod left on tmpfs. */
  readonly persisted: Persisted | undefined;
}

export function bornAgent({ self, deployment, server, now, persisted }: Birth): AgentState {
  const voter = bornVoter(deployment.shards, now, persisted);
  return {
    self,
    deployment,
    server,
    lost: new Set(),
    stopped: new Set(),
    leaving: false,
    seq: 0,
    voter,
    holder: bornHolder(server.run, persisted?.leaseUntil ?? Number.NEGATIVE_INFINITY),
    candidate: { ...NO_CANDIDATE, electionUntil: persisted?.electionUntil },
    survey: NO_SURVEY,
    recall: NO_RECALL,
    gate: NO_GATE,
    handover: NO_HANDOVER,
    correspondents: NOBODY_KNOWN,
    releasedAt: Number.NEGATIVE_INFINITY,
    persisted: persisted ?? {
      leaseUntil: Number.NEGATIVE_INFINITY,
      electionUntil: undefined,
      shards: voter.shards.map(remembered),
    },
  };
}

export type Step = [AgentState, readonly Output[]];

export function step(state: AgentState, input: Input, rules: Rules, now: number): Step {
  const queue: Input[] = [input];
  const outputs: Output[] = [];
  let current = state;
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const [after, produced] = once({ ...current, seq: current.seq + 1 }, next, rules, now);
    current = after;
    for (const output of produced) {
      // An agent is its own voter too: what it says to itself arrives at once.
      if (output.do === "send" && output.message.to === state.self.node) {
        queue.push({ kind: "message", message: output.message });
      } else outputs.push(output);
    }
  }
  return keepFirst(current, outputs);
}

/** What must survive a restart of the agent is kept before anything that rests on it is said. */
function keepFirst(state: AgentState, outputs: Output[]): Step {
  const { leaseUntil } = state.holder;
  const { electionUntil } = state.candidate;
  const what: Persisted = { leaseUntil, electionUntil, shards: state.voter.shards.map(remembered) };
  if (!state.voter.remembers || samePersisted(what, state.persisted)) return [state, outputs];
  return [{ ...state, persisted: what }, [{ do: "persist", what }, ...outputs]];
}

function samePersisted(a: Persisted, b: Persisted): boolean {
  if (a.leaseUntil !== b.leaseUntil || a.electionUntil !== b.electionUntil) return false;
  return a.shards.every((shard, index) => {
    const other = b.shards[index];
    if (shard.memory !== other?.memory || shard.grantEpoch !== other.grantEpoch) return false;
    return shard.holder === other.holder && shard.promise === other.promise;
  });
}

export function contextOf(state: AgentState, rules: Rules, now: number): Context {
  const { self, deployment, server, lost, stopped, leaving } = state;
  return { self, deployment, rules, now, server, lost, stopped, leaving };
}

function once(state: AgentState, input: Input, rules: Rules, now: number): Step {
  switch (input.kind) {
    case "tick":
      return tick({ ...state, server: input.server }, rules, now);
    case "message":
      return react(hear(state, input.message, rules, now), input.message, rules, now);
    case "answered":
      return [{ ...state, voter: takeProbe(contextOf(state, rules, now), state.voter, input.node) }, []];
    case "agent-gone": {
      const [voter, outputs] = takeAgentGone(state.voter, input.node);
      return [{ ...state, voter }, outputs];
    }
    case "sightings":
      return [{ ...state, lost: new Set(input.lost), stopped: new Set(input.stopped) }, []];
    case "leave": {
      const [handover, outputs] = beginHandover(contextOf(state, rules, now), state.handover, undefined);
      return [{ ...state, leaving: true, handover }, outputs];
    }
    case "hand-over": {
      const [handover, outputs] = beginHandover(contextOf(state, rules, now), state.handover, input.to);
      return [{ ...state, handover }, outputs];
    }
  }
}

/** News that may let something move is acted upon at once, not at the next tick. */
function react([state, outputs]: Step, { kind }: Message, rules: Rules, now: number): Step {
  // A renewal of what the server has already moves nothing.
  const granted = kind === "granted" && state.server.fenced;
  const recalled = kind === "memory" && !state.voter.remembers;
  const moves = kind === "release" || kind === "standing" || granted || recalled;
  if (!moves) return [state, outputs];
  const [after, more] = tick(state, rules, now);
  return [after, [...outputs, ...more]];
}

function hear(before: AgentState, message: Message, rules: Rules, now: number): Step {
  // An answer to an earlier boot of this agent counts for nothing.
  if ("askedBy" in message && message.askedBy !== before.self.boot) return [before, []];
  const met = meet(before.correspondents, message, now);
  if (met.known === undefined) return met.prove ? askWhoLives(before, message, rules, now) : [before, []];
  const stopped = rules.wordNeedsSilence ? withoutSpeaker(before.stopped, message.from) : before.stopped;
  const isKnown = met.known === before.correspondents && stopped === before.stopped;
  const state = isKnown ? before : { ...before, correspondents: met.known, stopped };
  const context = contextOf(state, rules, now);
  return "askedBy" in message ? take(context, state, message) : obey(context, state, message);
}

/** The operator's word that a server is stopped is old when its agent speaks, until the operator says it again. */
function withoutSpeaker(stopped: ReadonlySet<string>, speaker: string): ReadonlySet<string> {
  return stopped.has(speaker) ? new Set([...stopped].filter((node) => node !== speaker)) : stopped;
}

function obey(context: Context, state: AgentState, message: Question): Step {
  switch (message.kind) {
    case "renew":
    case "ask":
    case "ask-standing":
    case "ask-memory":
      return answer(context, state, message);
    case "release": {
      const voter = takeRelease(context, state.voter, message);
      return [{ ...state, voter, candidate: takeHandedLease(context, state.candidate, message) }, []];
    }
  }
}

function askWhoLives(state: AgentState, { from }: Message, rules: Rules, now: number): Step {
  const line = { seq: state.seq, epoch: state.server.tableEpoch };
  return [state, [question(contextOf(state, rules, now), line, from, { kind: "ask-standing" })]];
}

function take(context: Context, state: AgentState, message: Reply): Step {
  switch (message.kind) {
    case "granted":
      return [{ ...state, holder: takeGrant(context, state.holder, message) }, []];
    case "promised": {
      const candidate = takePromise(context, state.candidate, message);
      return promotion(context, adoptMemory({ ...state, candidate }, message.memory));
    }
    case "refused": {
      const refused = { ...state, holder: takeRefusal(context, state.holder, message) };
      // Who led in that epoch, and which copies were in sync with it, this agent does not know yet.
      const reached = { epoch: message.epoch, inSync: NOTHING_KNOWN.inSync };
      return [message.shard === state.self.shard ? adoptMemory(refused, reached) : refused, []];
    }
    case "standing":
      return [{ ...state, survey: takeStanding(state.survey, message) }, []];
    case "memory":
      return takeTold(context, state, message);
  }
}

function takeTold(context: Context, state: AgentState, message: Reply & { kind: "memory" }): Step {
  if (!state.voter.remembers) {
    const recall = takeMemory(context, state.recall, message);
    return [{ ...state, recall, voter: recallIfEnough(context, state.voter, recall) }, []];
  }
  // What others remember may be old, and nobody corrects it.
  const told = context.deployment.voters.includes(message.from) ? message.shards[state.self.shard] : undefined;
  return [told === undefined ? state : adoptMemory(state, told.memory), []];
}

/** Why nothing moves, for the status. */
export function holdsOf(state: AgentState): readonly Hold[] {
  const { gate, holder, candidate, handover } = state;
  return [gate.hold, holder.hold, candidate.hold, handover.hold].filter((hold) => hold !== undefined);
}
