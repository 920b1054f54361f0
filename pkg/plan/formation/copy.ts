/** Whose copy of a shard's data is the newest: the same order by which agents open the gate. */
import { ownsSlots, stateOf } from "./member.ts";
import type { MemberView, NodeView } from "./view.ts";

export interface Copy {
  readonly hasData: boolean;
  readonly epoch: number;
  readonly offset: number;
  readonly primary: boolean;
  readonly member: number;
}

export function copyOf(member: MemberView): Copy | undefined {
  const state = stateOf(member);
  return state === undefined ? undefined : { ...contentOf(state), member: member.member };
}

function contentOf(state: NodeView): Omit<Copy, "member"> {
  const { cluster, disk, replication } = state;
  if (state.phase === "running" && cluster !== undefined) {
    const offset = replication?.offset ?? 0;
    return { hasData: state.keys > 0, epoch: cluster.configEpoch, offset, primary: ownsSlots(cluster) };
  }
  if (disk === undefined) return { hasData: state.keys > 0, epoch: 0, offset: 0, primary: false };
  const { hasData, epoch, offset, primary } = disk;
  return { hasData, epoch, offset, primary };
}

/** Below 0 when `a` is newer. Of equals the primary, then the lower member leads, so that there is always one. */
export function newerFirst(a: Copy, b: Copy): number {
  return (
    Number(b.hasData) - Number(a.hasData) ||
    b.epoch - a.epoch ||
    b.offset - a.offset ||
    Number(b.primary) - Number(a.primary) ||
    a.member - b.member
  );
}
