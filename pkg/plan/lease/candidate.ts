/** The candidate: a replica's agent that has its server replace the shard's primary, once the rules allow it. */
import { type Context, isRunningPrimary, type Output, placeInShard } from "./context.ts";
import type { Standing } from "./copy.ts";
import { firstUnmet, type Hold } from "./demand.ts";
import { laterMemory, NOTHING_KNOWN, type ShardMemory } from "./memory.ts";
import type { Promised, Release } from "./message.ts";
import { type Line, question } from "./post.ts";
import { type Asked, rememberAsked } from "./survey.ts";
import { promotionKind } from "./takeover.ts";

export interface PromiseHeard {
  readonly askedAt: number;
  readonly memory: ShardMemory;
  readonly holders: readonly string[];
  readonly standing: Standing;
}

export interface CandidateState {
  /** Since when its primary has been out of reach, without a pause: what others said before that is of another time. */
  readonly orphanSince: number | undefined;
  readonly asked: readonly Asked[];
  readonly promises: ReadonlyMap<string, PromiseHeard>;
  /** Since when it has been asking, without a pause. */
  readonly askingSince: number | undefined;
  /** Since when a voter keeps the lease for it. */
  readonly promisedSince: number | undefined;
  readonly pausedUntil: number;
  /** When the election was begun: it may be won until the failover's timeout is over. */
  readonly begunAt: number | undefined;
  /** Until when the promises bind with which it was begun: by then the winner must hold the lease. */
  readonly electionUntil: number | undefined;
  /** The primary handed the lease over to this node. */
  readonly handed: { readonly offset: number; readonly at: number } | undefined;
  readonly hold: Hold | undefined;
}

export interface CandidateFacts {
  readonly context: Context;
  readonly own: Standing;
  readonly memory: ShardMemory;
  /** Of the shard's other members, as far as they have just spoken. */
  readonly peers: ReadonlyMap<string, Standing>;
  readonly handed: CandidateState["handed"];
}

/** What the candidate needs to know of the other parts of its agent. */
export interface CandidateView {
  readonly own: Standing;
  readonly memory: ShardMemory;
  readonly peers: ReadonlyMap<string, Standing>;
  /** Of members of any shard, as far as they have just spoken. */
  readonly spoken: ReadonlyMap<string, Standing>;
}

export const NO_CANDIDATE: CandidateState = {
  orphanSince: undefined,
  asked: [],
  promises: new Map(),
  askingSince: undefined,
  promisedSince: undefined,
  pausedUntil: Number.NEGATIVE_INFINITY,
  begunAt: undefined,
  electionUntil: undefined,
  handed: undefined,
  hold: undefined,
};

const STAGGER = 16;

/** A replica whose primary is out of reach, or that was handed the lease; or a primary that was outranked. */
export function isOrphan(context: Context, { handed }: CandidateState, memory: ShardMemory): boolean {
  const { server } = context;
  if (isOutranked(context, memory)) return true;
  return server.phase === "running" && server.role === "replica" && (!server.linkUp || handed !== undefined);
}

/**
 * A primary of a lower epoch than the shard has reached gets no lease any more: another one has won an election. When that
 * one ended before anything was written under its lease, this copy may still be the newest, and nobody else would lead.
 */
function isOutranked({ server }: Context, { epoch }: ShardMemory): boolean {
  return isRunningPrimary(server) && epoch > server.tableEpoch;
}

export function noteOrphan(context: Context, candidate: CandidateState, memory: ShardMemory): CandidateState {
  const orphanSince = isOrphan(context, candidate, memory) ? (candidate.orphanSince ?? context.now) : undefined;
  return orphanSince === candidate.orphanSince ? candidate : { ...candidate, orphanSince };
}

export function takeHandedLease(context: Context, before: CandidateState, release: Release): CandidateState {
  if (release.shard !== context.self.shard || release.successor !== context.self.node) return before;
  return { ...before, handed: { offset: release.offset, at: context.now }, pausedUntil: Number.NEGATIVE_INFINITY };
}

export function tickCandidate(
  context: Context,
  line: Line,
  before: CandidateState,
  view: CandidateView,
): [CandidateState, Output[]] {
  const candidate = forgetOld(context, before);
  if (!isOrphan(context, candidate, view.memory)) return giveUp(context, line, candidate, undefined);
  const hold = whyNotAsk(context, candidate, view);
  if (hold !== undefined) return giveUp(context, line, candidate, hold);
  if (askedInVain(context, candidate)) {
    return giveUp(context, line, candidate, { name: "promises-missing", reason: "too few voters gave their promise" });
  }
  return ask(context, line, { ...candidate, hold: undefined });
}

function whyNotAsk(context: Context, candidate: CandidateState, view: CandidateView): Hold | undefined {
  if (context.now < candidate.pausedUntil)
    return candidate.hold ?? { name: "pause", reason: "it has just asked in vain" };
  return firstUnmet(context.rules.candidate, { context, handed: candidate.handed, ...view });
}

/** A handover that came to nothing, and an election that can no longer be won, are over. */
function forgetOld(context: Context, candidate: CandidateState): CandidateState {
  const { failoverTimeoutMs, forceWithinMs, handoverMs } = context.rules.timing;
  const { begunAt, handed } = candidate;
  const over = begunAt !== undefined && context.now - begunAt > 2 * failoverTimeoutMs + forceWithinMs;
  const stale = handed !== undefined && (context.now - handed.at > handoverMs || isRunningPrimary(context.server));
  if (!over && !stale) return candidate;
  return { ...candidate, begunAt: over ? undefined : begunAt, handed: stale ? undefined : handed };
}

/** Promises that do not make a majority keep others from theirs, the old primary included: they are given back. */
function askedInVain(context: Context, { promisedSince, begunAt }: CandidateState): boolean {
  const { forceWithinMs } = context.rules.timing;
  return promisedSince !== undefined && begunAt === undefined && context.now - promisedSince > 2 * forceWithinMs;
}

function giveUp(
  context: Context,
  line: Line,
  candidate: CandidateState,
  hold: Hold | undefined,
): [CandidateState, Output[]] {
  if (candidate.askingSince === undefined) {
    return [candidate.hold === hold ? candidate : { ...candidate, hold }, []];
  }
  // An election that was begun cannot be called back, so its promises must bind until it can no longer be won.
  if (candidate.begunAt !== undefined) return [{ ...candidate, hold }, []];
  const body = { kind: "release" as const, successor: undefined, offset: 0, stopped: false };
  const outputs = isRunningPrimary(context.server)
    ? []
    : context.deployment.voters.map((to) => question(context, line, to, body));
  const { forceWithinMs } = context.rules.timing;
  const promised = candidate.promisedSince !== undefined;
  const pausedUntil = promised ? context.now + forceWithinMs * (1 + placeInShard(context) / 2) : candidate.pausedUntil;
  return [
    {
      ...candidate,
      asked: [],
      promises: new Map(),
      askingSince: undefined,
      promisedSince: undefined,
      pausedUntil,
      hold,
    },
    outputs,
  ];
}

function ask(context: Context, line: Line, candidate: CandidateState): [CandidateState, Output[]] {
  const { askEveryMs, askSoonMs, forceWithinMs } = context.rules.timing;
  const last = candidate.asked.at(-1)?.at ?? Number.NEGATIVE_INFINITY;
  const isNew = context.now - (candidate.askingSince ?? context.now) < forceWithinMs;
  if (context.now - last < (isNew ? askSoonMs : askEveryMs)) return [candidate, []];
  const outputs = context.deployment.voters.map((to) => question(context, line, to, { kind: "ask" }));
  const asked = rememberAsked(candidate.asked, line.seq, context.now);
  return [{ ...candidate, asked, askingSince: candidate.askingSince ?? context.now }, outputs];
}

/** An answer counts for the question it was asked, and from the moment of the asking. */
export function takePromise({ now }: Context, candidate: CandidateState, message: Promised): CandidateState {
  const askedAt = candidate.asked.find(({ seq }) => seq === message.seq)?.at;
  if (askedAt === undefined) return candidate;
  const { memory, holders, standing } = message;
  const promises = new Map(candidate.promises).set(message.from, { askedAt, memory, holders, standing });
  return { ...candidate, promises, promisedSince: candidate.promisedSince ?? now };
}

/**
 * An election that is lost is begun anew, each candidate after a time of its own: primaries vote once in an epoch, and two
 * shards that begin together would take each other's votes for ever.
 */
function electionRuns({ now, rules, deployment, self }: Context, { begunAt }: CandidateState): boolean {
  if (begunAt === undefined) return false;
  const place = deployment.members.findIndex(({ node }) => node === self.node);
  return now - begunAt < rules.timing.failoverTimeoutMs * (1 + (place % STAGGER) / STAGGER);
}

/** What only this agent knows counts if it votes: nobody tells the others when a set that it heard of was changed. */
function knownByVoters({ deployment, self }: Context, { memory }: CandidateView): ShardMemory {
  return deployment.voters.includes(self.node) ? memory : NOTHING_KNOWN;
}

const NOBODY: ReadonlySet<string> = new Set();

/**
 * The operator's word that a server is stopped may be old: the operator may be away. So it counts only when an election
 * was not won, during which everybody was asked, and for those who did not answer.
 */
function withoutOldWord(context: Context, { begunAt }: CandidateState): Context {
  return begunAt === undefined && context.rules.wordNeedsSilence ? { ...context, stopped: NOBODY } : context;
}

/** Begins the election when a majority has promised and, by all that they know, this copy may lead. */
export function promoteIfPromised(
  context: Context,
  candidate: CandidateState,
  view: CandidateView,
): [CandidateState, Output[]] {
  const { forceWithinMs } = context.rules.timing;
  if (!isOrphan(context, candidate, view.memory) || electionRuns(context, candidate)) return [candidate, []];
  const promises = [...candidate.promises.values()].filter(({ askedAt }) => context.now - askedAt <= forceWithinMs);
  if (promises.length < context.rules.majority(context.deployment.voters.length)) return [candidate, []];
  const memory = promises.reduce((known, promise) => laterMemory(known, promise.memory), knownByVoters(context, view));
  const hold = firstUnmet(context.rules.candidate, { context, handed: candidate.handed, ...view, memory });
  if (hold !== undefined) return [{ ...candidate, hold }, []];
  const oldest = Math.min(...promises.map(({ askedAt }) => askedAt));
  const how = isRunningPrimary(context.server)
    ? "RAISE"
    : promotionKind(withoutOldWord(context, candidate), view.spoken, promises);
  const electionUntil = oldest + forceWithinMs + context.rules.timing.failoverTimeoutMs;
  const begun = { ...candidate, begunAt: context.now, electionUntil };
  return [begun, [{ do: "promote", how, notAfter: oldest + forceWithinMs }]];
}
