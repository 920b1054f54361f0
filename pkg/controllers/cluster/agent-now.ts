/** What is known of a node's agent, put together for the plan. */
import { agentAddress } from "../../plan/cluster/members.ts";
import type { AgentNow, PodNow } from "../../plan/cluster/view.ts";
import type { NodeState } from "../../rpc/gen/valkey/agent/v1/state_pb.ts";
import type { AgentHub, AgentTarget } from "../agents/agent-hub.ts";
import { agentFacts } from "./trouble-facts.ts";

export interface Place {
  readonly namespace: string;
  readonly cluster: string;
  readonly node: string;
}

/** Undefined while the node has no pod whose agent could be asked. */
export function targetOf(place: Place, pod: PodNow | undefined): AgentTarget | undefined {
  const ip = agentAddress(pod);
  const podUid = pod?.metadata.uid;
  return ip === undefined || podUid === undefined ? undefined : { ...place, ip, podUid };
}

export function agentNow(hub: AgentHub, place: Place, pod: PodNow | undefined): AgentNow {
  const target = targetOf(place, pod);
  if (target === undefined) {
    const why = pod === undefined ? "it has no pod" : "its agent does not run";
    return {
      contact: { known: "unreachable", why },
      busy: undefined,
      met: [],
      failure: undefined,
      pushed: undefined,
      ...NOTHING,
    };
  }
  const { contact, busy, met, failure, pushed, state, silentSince } = hub.sight(target);
  return { contact, busy, met, failure, pushed, facts: agentFacts(state, silentSince), drifts: driftsOf(state) };
}

const NOTHING = { facts: undefined, drifts: [] };

function driftsOf(state: NodeState | undefined): AgentNow["drifts"] {
  return (state?.drifts ?? []).map(({ kind, name, repaired }) => ({ what: `${kind} ${name}`, repaired }));
}
