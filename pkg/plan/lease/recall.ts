/** A voter that was born without memory learns from the others what was granted, before it grants anything itself. */
import { type Context, majorityOf, type Output } from "./context.ts";
import { laterRemembered, type RememberedShard } from "./memory.ts";
import type { TellMemory } from "./message.ts";
import { type Line, question } from "./post.ts";
import { asJustGranted, forgottenGrantsRanOut, remembered, type VoterState } from "./voter.ts";

export interface RecallState {
  readonly askedAt: number;
  readonly answers: ReadonlyMap<string, TellMemory>;
}

export const NO_RECALL: RecallState = { askedAt: Number.NEGATIVE_INFINITY, answers: new Map() };

/** Asks only once what a forgotten self may have granted has run out, so that no grant is on its way past the answers. */
export function askMemories(
  context: Context,
  line: Line,
  voter: VoterState,
  recall: RecallState,
): [RecallState, Output[]] {
  if (voter.remembers || !forgottenGrantsRanOut(context, voter)) return [recall, []];
  if (context.now - recall.askedAt < context.rules.timing.askEveryMs) return [recall, []];
  const others = context.deployment.voters.filter((node) => node !== context.self.node);
  const outputs = others.map((to) => question(context, line, to, { kind: "ask-memory" as const }));
  return [{ ...recall, askedAt: context.now }, outputs];
}

export function takeMemory(recall: RecallState, message: TellMemory): RecallState {
  return { ...recall, answers: new Map(recall.answers).set(message.from, message) };
}

/**
 * Enough is known when a majority of the voters remembers: every lease was granted by a majority, so one of them knows.
 * Or when every voter has answered or is lost: there is nothing more to be known.
 */
export function recallIfEnough(context: Context, voter: VoterState, recall: RecallState): VoterState {
  if (voter.remembers || !forgottenGrantsRanOut(context, voter)) return voter;
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
