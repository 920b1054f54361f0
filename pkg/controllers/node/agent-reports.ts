/** What agents last said, for controllers that show it. */
import type { ReportView } from "../../plan/node/view.ts";
import { type NodeState, Role } from "../../rpc/gen/valkey/agent/v1/state_pb.ts";

export interface AgentReports {
  /** Undefined when the agent of this node was not heard of. */
  stateOf(namespace: string, node: string): NodeState | undefined;
  /** Hears of every report. The function returned ends it. */
  subscribe(on: (namespace: string, node: string) => void): () => void;
}

/** For an operator that does not listen to agents. */
export const NO_REPORTS: AgentReports = { stateOf: () => undefined, subscribe: () => () => undefined };

export function reportView({ cluster, server, applied }: NodeState): ReportView {
  return {
    nodeId: orNone(cluster?.nodeId),
    role: roleOf(cluster?.role),
    version: orNone(server?.version),
    configHash: orNone(applied?.configurationHash),
  };
}

function orNone(text: string | undefined): string | undefined {
  return text === "" ? undefined : text;
}

function roleOf(role: Role | undefined): ReportView["role"] {
  if (role === Role.PRIMARY) return "primary";
  return role === Role.REPLICA ? "replica" : "none";
}
