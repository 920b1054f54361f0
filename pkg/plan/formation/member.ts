/** Questions that every part of formation asks of a member. */
import type { ClusterTable, MemberView, NodeView } from "./view.ts";

/** How long a pod may take to start before its shard begins without it. */
export const LOST_AFTER_MS = 15_000;

export function stateOf({ contact }: MemberView): NodeView | undefined {
  return contact.known === "answer" ? contact.state : undefined;
}

/** The table of a server that answers. */
export function tableOf(member: MemberView): ClusterTable | undefined {
  const state = stateOf(member);
  return state?.phase === "running" ? state.cluster : undefined;
}

/** A server at the gate, or whose process is not there, cannot write: it has to pass the gate first. */
export function isProvenStopped(member: MemberView): boolean {
  const phase = stateOf(member)?.phase;
  return phase === "gated" || phase === "absent" || phase === "stopped";
}

/** Whether Kubernetes proves that no server of it runs. That its pod is gone proves nothing: it may be gone by force. */
export function hasEnded(member: MemberView): boolean {
  if (member.ran === undefined || stateOf(member) !== undefined) return false;
  return member.ran.reported || member.ran.state === "gone";
}

/**
 * Whether its copy is proven not to count. Slots and primaries are given only to members on record, so one that is not
 * on record holds nothing, unless its volume is older than itself. Without a volume a pod that has not started is empty.
 */
export function isLost(member: MemberView): boolean {
  if (member.podRuns || stateOf(member) !== undefined) return false;
  if (member.hasVolume && (member.recordedId !== undefined || member.oldVolume)) return false;
  return member.wantedForMs >= LOST_AFTER_MS;
}

/** How long until a member counts as lost; undefined when it will not by time alone. */
export function lostInMs(member: MemberView): number | undefined {
  const later = { ...member, wantedForMs: LOST_AFTER_MS };
  return isLost(later) && !isLost(member) ? LOST_AFTER_MS - member.wantedForMs : undefined;
}

/** Every id under which the cluster may know the member. */
export function idsOf(member: MemberView): readonly string[] {
  const state = stateOf(member);
  const ids = [state?.cluster?.id, state?.disk?.id, member.recordedId];
  return [...new Set(ids.flatMap((id) => (id === undefined || id === "" ? [] : [id])))];
}

export function ownsSlots(table: ClusterTable | undefined): boolean {
  return table !== undefined && table.role === "primary" && table.slots.length > 0;
}

/** Began with nothing and has met nobody. */
export function isBlank(member: MemberView): boolean {
  const table = tableOf(member);
  if (table === undefined || stateOf(member)?.keys !== 0) return false;
  return table.role === "primary" && table.slots.length === 0 && table.nodes.every(({ handshake }) => handshake);
}
