/** Answering what other agents ask. */
import type { AgentState, Step } from "./agent-core.ts";
import { type Context, type Output, standingOf } from "./context.ts";
import { disregards, isProven } from "./disregard.ts";
import { holdsLease } from "./holder.ts";
import type { Ask, AskMemory, AskStanding, Renew } from "./message.ts";
import { question, reply } from "./post.ts";
import { considerAsk, considerRenewal, holdersOf, remembered, votedShard } from "./voter.ts";

export function answer(context: Context, state: AgentState, asked: Renew | Ask | AskStanding | AskMemory): Step {
  const { epoch } = votedShard(state.voter, asked.shard).memory;
  const standing = standingOf(context, holdsLease(context, state.holder));
  switch (asked.kind) {
    case "ask-standing":
      return [state, [reply(context, asked, epoch, { kind: "standing", standing })]];
    case "ask-memory":
      return [state, tellMemory(context, state, asked)];
    case "renew": {
      const verdict = considerRenewal(context, state.voter, asked);
      if ("hold" in verdict) return [state, [reply(context, asked, epoch, { kind: "refused", hold: verdict.hold })]];
      return [{ ...state, voter: verdict.voter }, [reply(context, asked, epoch, { kind: "granted" })]];
    }
    case "ask": {
      const verdict = considerAsk(context, state.voter, asked);
      if ("hold" in verdict) return [state, [reply(context, asked, epoch, { kind: "refused", hold: verdict.hold })]];
      const { memory } = votedShard(verdict.voter, asked.shard);
      return [
        { ...state, voter: verdict.voter },
        [reply(context, asked, epoch, { kind: "promised", memory, holders: holdersOf(state.voter), standing })],
      ];
    }
  }
}

/** Who asks may be a new boot, of which it is not known yet that it is the present one: then it is asked in its turn. */
function tellMemory(context: Context, { voter, holder, candidate, correspondents, seq }: AgentState, asked: AskMemory) {
  const { from, boot, shard } = asked;
  const facts = { context, holder, candidate, voter: from, boot, known: correspondents[from] };
  const told = { remembers: voter.remembers, disregards: disregards(facts), shards: voter.shards.map(remembered) };
  const { epoch } = votedShard(voter, shard).memory;
  const outputs: Output[] = [reply(context, asked, epoch, { kind: "memory", ...told })];
  if (isProven(facts)) return outputs;
  return [...outputs, question(context, { seq, epoch: context.server.tableEpoch }, from, { kind: "ask-standing" })];
}
