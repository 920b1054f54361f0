/** A voter that was born without memory learns from the others what was granted, before it grants anything itself. */
import { type Context, majorityOf, type Output } from "./context.ts";
import { laterRemembered, type RememberedShard } from "./memory.ts";
import type { TellMemory } from "./message.ts";
import { type Line, question } from "./post.ts";
import { asJustGranted, forgottenGrantsRanOut, remembered, type VoterState } from "./voter.ts";

export interface RecallState {
  readonly askedAt: number;
  /** Members for whom nothing counts that an earlier boot of this voter granted. */
  readonly disregardedBy: ReadonlySet<string>;
  /** The number of the first question that was asked when no such grant counted any more: answers to it are of use. */
  readonly fromSeq: number | undefined;
  readonly answers: ReadonlyMap<string, TellMemory>;
}

export const NO_RECALL: RecallState = {
  askedAt: Number.NEGATIVE_INFINITY,
  disregardedBy: new Set(),
  fromSeq: undefined,
  answers: new Map(),
};

/** In a larger deployment asking every member costs more than waiting. */
const MOST_ASKED = 32;

/**
 * Asks what was granted only once nothing counts that a forgotten self may have granted, so that no grant is on its way
 * past the answers. Until then it asks whether that is so.
 */
export function askMemories(
  context: Context,
  line: Line,
  voter: VoterState,
  before: RecallState,
): [RecallState, Output[]] {
  if (voter.remembers) return [before, []];
  const recall = begin(context, line, voter, before);
  if (context.now - recall.askedAt < context.rules.timing.askEveryMs) return [recall, []];
  const asked = recall.fromSeq === undefined ? notYetSaid(context, recall) : otherVoters(context);
  const outputs = asked.map((to) => question(context, line, to, { kind: "ask-memory" as const }));
  return [{ ...recall, askedAt: context.now }, outputs];
}

function begin(context: Context, line: Line, voter: VoterState, recall: RecallState): RecallState {
  if (recall.fromSeq !== undefined) return recall;
  if (!forgottenGrantsRanOut(context, voter) && !allDisregard(context, recall)) return recall;
  return { ...recall, fromSeq: line.seq, askedAt: Number.NEGATIVE_INFINITY };
}

function allDisregard({ deployment, self }: Context, { disregardedBy }: RecallState): boolean {
  return deployment.members.every(({ node }) => node === self.node || disregardedBy.has(node));
}

function notYetSaid({ deployment, self }: Context, { disregardedBy }: RecallState): readonly string[] {
  if (deployment.members.length > MOST_ASKED) return [];
  const nodes = deployment.members.map(({ node }) => node);
  return nodes.filter((node) => node !== self.node && !disregardedBy.has(node));
}

function otherVoters({ deployment, self }: Context): readonly string[] {
  return deployment.voters.filter((node) => node !== self.node);
}

export function takeMemory({ deployment }: Context, recall: RecallState, message: TellMemory): RecallState {
  const { from, seq, disregards } = message;
  const disregardedBy = disregards ? new Set(recall.disregardedBy).add(from) : recall.disregardedBy;
  const counts = recall.fromSeq !== undefined && seq >= recall.fromSeq && deployment.voters.includes(from);
  return { ...recall, disregardedBy, answers: counts ? new Map(recall.answers).set(from, message) : recall.answers };
}

/**
 * Enough is known when a majority of the voters remembers: every lease was granted by a majority, so one of them knows.
 * Or when every voter has answered or is lost: there is nothing more to be known.
 */
export function recallIfEnough(context: Context, voter: VoterState, recall: RecallState): VoterState {
  if (voter.remembers || recall.fromSeq === undefined) return voter;
  const { voters } = context.deployment;
  const told = [...recall.answers.values()];
  const certain = told.filter(({ remembers }) => remembers).length >= majorityOf(voters.length);
  if (!certain && !voters.every((node) => hasSpoken(context, recall, node))) return voter;
  const shards = voter.shards.map((shard, index) => {
    const known = told.flatMap((answer) => answer.shards[index] ?? []);
    const all = known.reduce<RememberedShard>(laterRemembered, remembered(shard));
    return asJustGranted(certain || !context.rules.doubtsOldSets ? all : withoutSet(all), context.now);
  });
  return { ...voter, remembers: true, shards };
}

function hasSpoken({ self, lost }: Context, { answers }: RecallState, node: string): boolean {
  return node === self.node || answers.has(node) || lost.has(node);
}

/**
 * Who remembers may be the one that missed the last change of the in-sync set. When too few remember, nobody counts as in
 * sync until a primary says so again; until then all copies have to speak, and the newest leads.
 */
function withoutSet(shard: RememberedShard): RememberedShard {
  const { epoch, inSync } = shard.memory;
  return { ...shard, memory: { epoch, inSync: { version: inSync.version + 1, members: [] } } };
}
