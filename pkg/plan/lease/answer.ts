/** Answering what other agents ask. */
import type { AgentState, Step } from "./agent-core.ts";
import { type Context, standingOf } from "./context.ts";
import { holdsLease } from "./holder.ts";
import type { Ask, AskMemory, AskStanding, Renew } from "./message.ts";
import { reply } from "./post.ts";
import { considerAsk, considerRenewal, remembered, votedShard } from "./voter.ts";

export function answer(context: Context, state: AgentState, asked: Renew | Ask | AskStanding | AskMemory): Step {
  const { epoch } = votedShard(state.voter, asked.shard).memory;
  const standing = standingOf(context, holdsLease(context, state.holder));
  switch (asked.kind) {
    case "ask-standing":
      return [state, [reply(context, asked, epoch, { kind: "standing", standing })]];
    case "ask-memory": {
      const shards = state.voter.shards.map(remembered);
      return [state, [reply(context, asked, epoch, { kind: "memory", remembers: state.voter.remembers, shards })]];
    }
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
        [reply(context, asked, epoch, { kind: "promised", memory, standing })],
      ];
    }
  }
}
