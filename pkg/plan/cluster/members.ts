/** The members of a cluster as formation sees them. */
import type { MemberView } from "../formation/view.ts";
import type { NodeNow, PodNow } from "./view.ts";

/** The container that runs first and answers for the pod. */
const AGENT = "agent";

/** Whether anything of it has ever started: only then can it have touched its volume. */
export function hasStarted(pod: PodNow | undefined): boolean {
  if (pod === undefined) return false;
  const { initContainerStatuses, containerStatuses } = pod.status;
  return [...initContainerStatuses, ...containerStatuses].some(
    ({ state, lastState }) =>
      state.running !== undefined || state.terminated !== undefined || lastState.terminated !== undefined,
  );
}

/** Where the pod's agent can be asked; undefined while it cannot. */
export function agentAddress(pod: PodNow | undefined): string | undefined {
  const agent = pod?.status.initContainerStatuses.find(({ name }) => name === AGENT);
  return agent?.state.running === undefined ? undefined : pod?.status.podIP;
}

export function memberOf(now: NodeNow, at: Date): MemberView {
  const { name, shard, member, node, pod, ran, claim, agent } = now;
  const { creationTimestamp } = node?.metadata ?? {};
  const made = creationTimestamp === undefined ? at.getTime() : Date.parse(creationTimestamp);
  const claimMade = claim?.metadata.creationTimestamp;
  const { contact, busy, pushed } = agent;
  return {
    name,
    shard,
    member,
    ip: pod?.status.podIP,
    contact,
    busy,
    pushed,
    podRuns: hasStarted(pod),
    ran,
    wantedForMs: at.getTime() - made,
    recordedId: node?.status?.nodeId,
    oldVolume: claimMade !== undefined && Date.parse(claimMade) < made,
    hasVolume: node?.spec.storage !== undefined,
  };
}
