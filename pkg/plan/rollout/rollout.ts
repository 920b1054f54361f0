/**
 * A rolling change, one step after the other, decided anew each time from what is there: an operator that dies in the
 * middle is followed by one that goes on. Replicas first, then the primary hands over, then its old pod; then the next
 * shard. A pod goes only when the rest of the cluster can do without it, and what keeps it is named. With spares each
 * shard gets one more replica first, which goes at the end.
 *
 * For any view: a pod with a running server is let go only if its shard has another copy in sync, or the only copy stays
 * on its volume.
 */
import type { Hold } from "../lifecycle/hold.ts";
import { isSpare } from "../objects/members.ts";
import { type Candidate, cures, nextTurns } from "./candidate.ts";
import { CURE_DEMANDS, SPARE_GOES_DEMANDS, STEP_DEMANDS } from "./demands.ts";
import { judge, worthTelling } from "./judge.ts";
import { spareIn, successorIn } from "./spare.ts";
import type { HandoverStep } from "./step.ts";
import type { RolloutView } from "./view.ts";
import { windowNow } from "./window.ts";

export interface RolloutPlan {
  /** Nodes that may have the pod that the spec asks for now: the one that is there is replaced. */
  readonly replace: ReadonlySet<string>;
  readonly handovers: readonly HandoverStep[];
  /** Shards that get one more replica for the time of the change. */
  readonly addSpares: ReadonlySet<number>;
  /** Nodes of such replicas that are not needed any more. */
  readonly retire: ReadonlySet<string>;
  readonly holds: readonly Hold[];
  /** Undefined when every pod is as the spec asks. */
  readonly progress: RolloutProgress | undefined;
  /** Whether something is under way or about to be, so that agents should be asked often. */
  readonly moving: boolean;
  readonly requeueAfterMs: number | undefined;
}

export interface RolloutProgress {
  readonly pods: number;
  /** That are as the spec asks. */
  readonly updated: number;
  /** Whose turn it is: name of a ValkeyNode. */
  readonly next: string | undefined;
}

/** Reports come when something changes; that agents were asked again, and how old an answer is, time alone tells. */
const LOOK_MS = 150;
const LOOK_MS_PER_MEMBER = 4;

export function planRollout(view: RolloutView): RolloutPlan {
  const unfinished = view.members.filter((member) => member.outdated || isSpare(member));
  const cured = judge(cures(view.members), CURE_DEMANDS, view);
  const next = nextTurns(view);
  const going = judge(
    next.filter(({ turn }) => turn === "retire"),
    SPARE_GOES_DEMANDS,
    view,
  );
  const turns = judge(
    next.filter(({ turn }) => turn !== "retire"),
    STEP_DEMANDS,
    view,
  );
  const steps = [...cured.taken, ...going.taken, ...turns.taken];
  const holds = worthTelling([...cured.holds, ...going.holds, ...turns.holds], steps.length > 0);
  const waits = holds.some(({ name }) => LASTING_HOLDS.has(name));
  const { opensAt } = windowNow(view.window, view.now);
  return {
    replace: new Set(steps.filter(({ turn }) => REPLACES.has(turn)).map(({ member }) => member.name)),
    handovers: steps.filter(({ turn }) => turn === "hand-over").map(handover),
    addSpares: new Set(steps.filter(({ turn }) => turn === "add-spare").map(({ member }) => member.shard)),
    retire: new Set(steps.filter(({ turn }) => turn === "retire").map(({ member }) => member.name)),
    holds,
    progress: unfinished.length === 0 ? undefined : progressOf(view, [...steps, ...turns.refused, ...going.refused]),
    moving: unfinished.length > 0 && !waits,
    requeueAfterMs: unfinished.length > 0 ? requeue(view, waits, opensAt) : undefined,
  };
}

const REPLACES: ReadonlySet<Candidate["turn"]> = new Set(["cure", "replace", "replace-alone"]);

/** Holds that no moment releases: nobody is asked often while they last. */
export const LASTING_HOLDS: ReadonlySet<string> = new Set([
  "no-downgrade",
  "settings-accepted",
  "window-open",
  "another-copy",
]);

function requeue({ members, now }: RolloutView, waits: boolean, opensAt: Date | undefined): number | undefined {
  const lookMs = LOOK_MS + LOOK_MS_PER_MEMBER * members.length;
  if (!waits) return lookMs;
  return opensAt === undefined ? undefined : Math.max(lookMs, opensAt.getTime() - now.getTime());
}

function handover({ member: { name, answer }, shard }: Candidate): HandoverStep {
  const successor = spareIn(shard) === undefined ? "" : successorIn(shard);
  return { do: "handover", node: name, lane: name, nodeId: answer?.nodeId ?? "", successor, request: undefined };
}

function progressOf({ members }: RolloutView, [next]: readonly Candidate[]): RolloutProgress {
  const lasting = members.filter((member) => !isSpare(member));
  const updated = lasting.filter(({ outdated }) => !outdated).length;
  return { pods: lasting.length, updated, next: next?.member.name };
}
