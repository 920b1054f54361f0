/** Asks the agent of a primary to hand over, and tells what came of it. */
import type { FailoverOutcome } from "../../plan/failover/view.ts";
import type { HandoverStep } from "../../plan/rollout/step.ts";
import { type HandoverResponse, HandoverResult } from "../../rpc/gen/valkey/agent/v1/agent_pb.ts";
import type { Command } from "../agents/agent-hub.ts";

export type HandedOver = (step: HandoverStep, outcome: Omit<FailoverOutcome, "request">) => void;

/** The agent gives up by itself before that. */
const TIMEOUT_MS = 60_000;
/** Every try lets writes wait for a moment. */
const PAUSE_MS = 15_000;

const RESULTS: Readonly<Record<HandoverResult, FailoverOutcome["result"]>> = {
  [HandoverResult.UNSPECIFIED]: "unanswered",
  [HandoverResult.HANDED_OVER]: "handed-over",
  [HandoverResult.NOT_PRIMARY]: "not-primary",
  [HandoverResult.NO_REPLICA_IN_SYNC]: "refused",
  [HandoverResult.GAVE_UP]: "refused",
};

export function handoverCommand(step: HandoverStep, handedOver: HandedOver): Command {
  const { nodeId, successor } = step;
  return {
    step: "handover",
    timeoutMs: TIMEOUT_MS,
    pauseMs: PAUSE_MS,
    send: async (agent, limits) => {
      const outcome = await agent
        .handover({ nodeId, successor }, limits)
        .then(outcomeOf, (error: unknown) => ({ ...UNANSWERED, message: textOf(error) }));
      handedOver(step, outcome);
      if (outcome.result === "refused" || outcome.result === "unanswered") throw new Error(outcome.message);
    },
  };
}

const UNANSWERED = { result: "unanswered", successor: "", writesWaitedMs: 0 } as const;

function outcomeOf({ result, successor, writesWaitedMs, message }: HandoverResponse): Omit<FailoverOutcome, "request"> {
  return { result: RESULTS[result] ?? "unanswered", successor, writesWaitedMs, message };
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
