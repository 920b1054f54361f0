/** The only place where a StatefulSet says that its pod was refused: Warning events with the reason FailedCreate. */
import * as v from "valibot";
import { EVENTS, type KubeObject, ObjectMetaSchema, type Resource, typed } from "../../kube/resource.ts";

const Event = v.object({
  metadata: v.object({
    name: ObjectMetaSchema.entries.name,
    namespace: ObjectMetaSchema.entries.namespace,
    uid: ObjectMetaSchema.entries.uid,
    resourceVersion: ObjectMetaSchema.entries.resourceVersion,
  }),
  note: v.optional(v.string(), ""),
  regarding: v.object({ name: v.string(), uid: v.optional(v.string()) }),
  deprecatedLastTimestamp: v.nullish(v.string()),
  series: v.nullish(v.object({ lastObservedTime: v.string() })),
  eventTime: v.nullish(v.string()),
});
export type FailedCreate = v.InferOutput<typeof Event> & KubeObject;

export const FAILED_CREATES: Resource<FailedCreate> = typed(EVENTS, (value) => v.parse(Event, value));

/** For a cache of them: few at any time, gone an hour after the last one. */
export const FAILED_CREATES_SELECTOR = "type=Warning,reason=FailedCreate,regarding.kind=StatefulSet";

/** What was last said about a StatefulSet; of one that had the same name before, nothing. */
export function lastFailedCreate(
  events: readonly FailedCreate[],
  workload: { readonly name: string; readonly uid?: string | undefined },
): string | undefined {
  return events
    .filter(({ regarding }) => regarding.name === workload.name && regarding.uid === workload.uid)
    .toSorted((a, b) => timeOf(b) - timeOf(a))[0]?.note;
}

/** Whichever of the three ways to say it the writer used. */
function timeOf({ series, deprecatedLastTimestamp, eventTime }: FailedCreate): number {
  return Date.parse(series?.lastObservedTime ?? deprecatedLastTimestamp ?? eventTime ?? "") || 0;
}
