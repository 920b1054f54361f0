/** Whether a member is as clients and replicas need it, and if not, why in words. */
import { SLOTS } from "../formation/slots.ts";
import { isPrimary, type RolloutMember } from "./view.ts";

/** What is decided on must be of now; while a change is under way agents are asked many times a second. */
export const FRESH_MS = 3000;

/** Undefined when it is well: ready, in sync or leading, and at one with the cluster. */
export function unwell(member: RolloutMember): string | undefined {
  const { name, letGo, going, ready, troubles } = member;
  if (letGo || going) return `the pod of ${name} is being replaced`;
  return (
    podMissing(member) ??
    silent(member) ??
    serverAway(member) ??
    (ready ? undefined : `${name} is not ready`) ??
    outOfCluster(member) ??
    (troubles.length === 0 ? undefined : `${name}: ${troubles[0]}`)
  );
}

function podMissing({ name, pod }: RolloutMember): string | undefined {
  if (pod === "none") return `${name} has no pod`;
  if (pod === "unstarted") return `the server of ${name} has not started`;
  return pod === "unable" ? `the server of ${name} ends again and again` : undefined;
}

function silent({ name, answer, silence }: RolloutMember): string | undefined {
  if (answer === undefined) return `the agent of ${name} does not answer${silence === "" ? "" : `: ${silence}`}`;
  if (answer.ageMs <= FRESH_MS) return undefined;
  return `the agent of ${name} was last heard of ${Math.round(answer.ageMs / 1000)} s ago`;
}

function serverAway({ name, answer }: RolloutMember): string | undefined {
  return answer?.running === true ? undefined : `the server of ${name} does not answer`;
}

function outOfCluster(member: RolloutMember): string | undefined {
  const { name, answer } = member;
  if (!isPrimary(member) && answer?.inSync !== true) return `${name} is not in sync with its primary`;
  if (answer?.clusterOk !== true) return `the cluster is not ok for ${name}`;
  return answer.slotsAssigned === SLOTS ? undefined : `${name} knows owners of ${answer.slotsAssigned} slots only`;
}

export function notElectable({ name }: RolloutMember): string {
  return `${name} and the primaries are not all connected yet, so that it could lose its election`;
}
