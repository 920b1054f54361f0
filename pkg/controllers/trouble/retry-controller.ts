/** Makes StatefulSets of ours whose pod was refused try again: they would not notice that a quota was raised. */
import type { KubeClient } from "../../kube/client.ts";
import { type ActContext, type Controller, type ObjectCache, type Plan, watches } from "../../kube/controller.ts";
import { isKubeError } from "../../kube/kube-error.ts";
import { keyOf, refOfKey, STATEFUL_SETS } from "../../kube/resource.ts";
import { RETRY_ANNOTATION, RETRY_EVERY_MS, type Refused, retryDue } from "../../plan/trouble/retry.ts";
import type { NodeCaches } from "../node/observe.ts";
import type { NodeStatefulSet } from "../node/resources.ts";
import { type FailedCreate, lastFailedCreate } from "./failed-creates.ts";

export interface RetryDeps {
  readonly client: Pick<KubeClient, "patch">;
  readonly caches: Pick<NodeCaches, "statefulSets" | "pods">;
  readonly failedCreates: ObjectCache<FailedCreate>;
}

interface RetryStep {
  readonly do: "retry";
  readonly at: string;
  readonly uid: string | undefined;
}

export function retryController(deps: RetryDeps): Controller<NodeStatefulSet, Refused, RetryStep> {
  const { caches, failedCreates } = deps;
  return {
    name: "retry",
    sources: [watches(failedCreates, ({ metadata, regarding }) => [`${metadata.namespace ?? ""}/${regarding.name}`])],
    // The cache holds what is ours and nothing else.
    observe: (key) => {
      const wanted = caches.statefulSets.byKey(key);
      return wanted === undefined ? undefined : { wanted, view: refusedOf(deps, wanted) };
    },
    plan: (set, refused, now) => plan(set, refused, now),
    act: async ({ at, uid }, context) => retry(deps, { at, uid }, context),
  };
}

/** A StatefulSet is called as its node. */
function refusedOf({ caches, failedCreates }: RetryDeps, set: NodeStatefulSet): Refused {
  const { namespace } = set.metadata;
  const events = failedCreates.list().filter(({ metadata }) => metadata.namespace === namespace);
  return {
    wanted: set.spec["replicas"] !== 0 && set.metadata.deletionTimestamp === undefined,
    hasPod: caches.pods.byIndex("node", keyOf(set)).length > 0,
    failedCreate: lastFailedCreate(events, set.metadata),
    retriedAt: set.metadata.annotations?.[RETRY_ANNOTATION],
  };
}

function plan({ metadata: { uid } }: NodeStatefulSet, refused: Refused, now: Date): Plan<RetryStep> {
  const due = retryDue(refused, now);
  if (due === "never") return { steps: [], holds: [] };
  const steps = due === "now" ? [{ do: "retry", at: now.toISOString(), uid } as const] : [];
  return { steps, holds: [], requeueAfterMs: RETRY_EVERY_MS };
}

/** Any change of the object does; the uid keeps it from a successor that nobody has refused. */
async function retry(
  { client }: RetryDeps,
  { at, uid }: Omit<RetryStep, "do">,
  { key, guard, signal, log }: ActContext,
): Promise<void> {
  const body = { metadata: { uid, annotations: { [RETRY_ANNOTATION]: at } } };
  guard();
  try {
    await client.patch(STATEFUL_SETS, refOfKey(key), { type: "merge", body }, { signal });
    log.debug("made a refused StatefulSet try again");
  } catch (error) {
    if (!isKubeError(error, "not-found", "conflict")) throw error;
  }
}
