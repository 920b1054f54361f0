/**
 * Which pod a node gets: the one that it has, until the rolling change lets it go. So a pod that is lost on the way comes
 * back as it was, and a bad image reaches one pod and no other.
 */
import type { ValkeyNodeSpec } from "../../api/node.ts";
import type { PodFacts } from "../trouble/facts.ts";

const SERVER = "valkey";
/** One restart may be chance. */
const UNABLE_AFTER = 2;

export type PodState =
  /** There is none: the next one is made anew anyway. */
  | "none"
  /** Its server has never run, so it holds nothing. */
  | "unstarted"
  /** Its server ends again and again. */
  | "unable"
  /** Its server runs, or ran and comes back. */
  | "running";

export function podState(pod: PodFacts | undefined): PodState {
  if (pod === undefined || pod.metadata.deletionTimestamp !== undefined) return "none";
  const server = pod.status.containerStatuses.find(({ name }) => name === SERVER);
  if (server === undefined) return "unstarted";
  const { state, lastState, restartCount } = server;
  if (state.running !== undefined) return "running";
  const ends = [state.terminated, lastState.terminated].filter((end) => end !== undefined);
  if (ends.every(({ reason }) => reason === "StartError")) return "unstarted";
  const gaveUp = state.waiting?.reason === "CrashLoopBackOff" || restartCount >= UNABLE_AFTER;
  return gaveUp ? "unable" : "running";
}

export interface NodeNow {
  /** The ValkeyNode's spec as it is stored; undefined when there is none. */
  readonly existing: ValkeyNodeSpec | undefined;
  readonly podUid?: string | undefined;
  /** Whether the pod is on its way out. */
  readonly podGoing?: boolean | undefined;
  /** The revision that the pod was made of. */
  readonly podRevision?: string | undefined;
  /** Whether the pod that is there may be replaced now, or there is none to be replaced. */
  readonly mayReplace: boolean;
  /** Whether it has to be, although its revision is the right one: for a setting or a volume that only a new pod gets. */
  readonly restart: boolean;
}

/** The node's spec to be applied: with the pod that is wanted, or with the one that it has. */
export function nodeSpecNow(wanted: ValkeyNodeSpec, now: NodeNow): ValkeyNodeSpec {
  const { existing, podUid, podRevision, mayReplace } = now;
  if (existing === undefined) return wanted;
  const written = existing.podRevision === wanted.podRevision || podRevision === wanted.podRevision;
  const { podTemplate, podRevision: kept } = existing;
  const spec = written || mayReplace ? wanted : { ...wanted, podTemplate, podRevision: kept };
  const goes = now.podGoing === true ? existing.replacePod === podUid : isDue(wanted, now);
  return goes && podUid !== undefined ? { ...spec, replacePod: podUid } : spec;
}

/**
 * Once the pod has begun to go, the word that was given stands until it is gone: a Deployment that is stopped half way
 * would bring the old pod back.
 */
function isDue(wanted: ValkeyNodeSpec, { podRevision, mayReplace, restart }: NodeNow): boolean {
  return mayReplace && (podRevision !== wanted.podRevision || restart);
}
