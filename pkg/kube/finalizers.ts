/**
 * Finalizers: our word that something is left to do before an object may go.
 *
 * Written as a patch that names the uid and the resourceVersion it was decided on, so that another's finalizer is never
 * lost and an object that was deleted is never brought back.
 */
import type { CallOptions, KubeClient } from "./client.ts";
import { isKubeError } from "./kube-error.ts";
import { defineResource, type KubeObject, type ResourceName, refOf } from "./resource.ts";

type Patching = Pick<KubeClient, "patch" | "find">;

/** A conflict means that somebody wrote meanwhile; more often than this in a row, the caller's backoff takes over. */
const TRIES = 3;

export interface FinalizerChange {
  readonly resource: ResourceName;
  /** As last seen. */
  readonly object: KubeObject;
  readonly finalizer: string;
}

export function hasFinalizer(object: KubeObject, finalizer: string): boolean {
  return object.metadata.finalizers?.includes(finalizer) === true;
}

/** Gives the object with the finalizer, or undefined when it is gone or going: none may be added then. */
export async function addFinalizer(
  client: Patching,
  change: FinalizerChange,
  options: CallOptions = {},
): Promise<KubeObject | undefined> {
  return edit(client, change, options, (object) => {
    if (object.metadata.deletionTimestamp !== undefined) return "impossible";
    return hasFinalizer(object, change.finalizer) ? "done" : [...(object.metadata.finalizers ?? []), change.finalizer];
  });
}

/** Gives the object without the finalizer, or undefined when it is gone. */
export async function removeFinalizer(
  client: Patching,
  change: FinalizerChange,
  options: CallOptions = {},
): Promise<KubeObject | undefined> {
  return edit(client, change, options, (object) =>
    hasFinalizer(object, change.finalizer)
      ? (object.metadata.finalizers ?? []).filter((name) => name !== change.finalizer)
      : "done",
  );
}

type Edit = (object: KubeObject) => readonly string[] | "done" | "impossible";

async function edit(
  client: Patching,
  change: FinalizerChange,
  options: CallOptions,
  next: Edit,
): Promise<KubeObject | undefined> {
  const resource = defineResource(change.resource);
  const ref = refOf(change.object);
  let object: KubeObject | undefined = change.object;
  for (let attempt = 1; ; attempt += 1) {
    const finalizers = next(object);
    if (finalizers === "impossible") return undefined;
    if (finalizers === "done") return object;
    const { uid, resourceVersion } = object.metadata;
    try {
      const body = { metadata: { uid, resourceVersion, finalizers } };
      return await client.patch(resource, ref, { type: "merge", body }, options);
    } catch (error) {
      if (isKubeError(error, "not-found")) return undefined;
      if (!isKubeError(error, "conflict") || attempt === TRIES) throw error;
    }
    object = await client.find(resource, ref, options);
    if (object === undefined || object.metadata.uid !== uid) return undefined;
  }
}
