/** Every write that was acknowledged to a client: by whom, when, and whether the client had waited for all replicas. */
import type { Node } from "./node.ts";

/** In which an agent that is back sees its server and fences it. */
const BACK_MS = 150;

export class Writes {
  readonly node: number[] = [];
  readonly at: number[] = [];
  readonly waited: boolean[] = [];
  /** Whether the server had an agent then that would have fenced it: one that is back needs a moment. */
  readonly guarded: boolean[] = [];

  acknowledge({ index, agent, agentBackAt }: Node, at: number): number {
    this.node.push(index);
    this.guarded.push(agent.up && at - agentBackAt > BACK_MS);
    this.at.push(at);
    this.waited.push(false);
    return this.node.length - 1;
  }
}

/** How many writes two logs share. A write is in one place of one history, so the first difference is where they part. */
export function sharedLength(a: readonly number[], b: readonly number[]): number {
  const most = Math.min(a.length, b.length);
  if (most === 0 || a[most - 1] === b[most - 1]) return most;
  let low = 0;
  let high = most - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (a[middle] === b[middle]) low = middle + 1;
    else high = middle;
  }
  return low;
}
