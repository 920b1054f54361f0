/** What the driver of the lease asks of its state and of what is to be done. */
import type { AgentState } from "../../plan/lease/agent-core.ts";
import type { Output } from "../../plan/lease/context.ts";
import type { Message, Question } from "../../plan/lease/message.ts";
import type { Place } from "./deployment.ts";

/** What is done to the own server. */
export type Control = Output & { readonly do: "fence" | "unfence" | "promote" | "kill" | "stop" };
const CONTROLS: ReadonlySet<Output["do"]> = new Set<Control["do"]>(["fence", "unfence", "promote", "kill", "stop"]);

export function isControl(output: Output): output is Control {
  return CONTROLS.has(output.do);
}

/** One that was restarted and has had no lease since may end again: clients must not wait for it for long. */
export function isNew({ leaseUntil, foundUntil }: AgentState["holder"]): boolean {
  return leaseUntil <= foundUntil;
}

export function isAtRest({ handover }: AgentState): boolean {
  return handover.stage === "none";
}

export function isIdleReplica({ server, candidate }: AgentState): boolean {
  return server.role === "replica" && candidate.begunAt === undefined;
}

export function isQuestion(message: Message): message is Question {
  return !("askedBy" in message);
}

/** Members change; what was granted does not. */
export function moved(state: AgentState, { self, deployment }: Place): AgentState {
  return { ...state, self: { ...self, boot: state.self.boot }, deployment };
}
