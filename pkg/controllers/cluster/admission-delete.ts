/** Deleting a ValkeyCluster: refused while it is protected, and told what becomes of its data. */
import * as v from "valibot";
import { parseValkeyCluster } from "../../api/cluster.ts";
import { ParseError } from "../../api/parse-error.ts";
import { isProtected, PROTECTION_ANNOTATION } from "../../plan/lifecycle/deletion.ts";
import type { AdmissionDecision, AdmissionRequest } from "../../webhook/admission-review.ts";
import type { AdmissionDeps } from "./admission.ts";

/**
 * Whoever deletes a namespace has decided about all that is in it, and refusing this one object would only leave the
 * namespace half deleted for ever.
 */
export const LET_THROUGH: ReadonlySet<string> = new Set([
  "system:serviceaccount:kube-system:namespace-controller",
  "system:serviceaccount:kube-system:generic-garbage-collector",
  "system:kube-controller-manager",
]);

const Metadata = v.object({
  metadata: v.object({
    name: v.optional(v.string(), ""),
    deletionTimestamp: v.optional(v.string()),
    annotations: v.optional(v.record(v.string(), v.string())),
  }),
});

export function admitDeletion(request: AdmissionRequest, deps: AdmissionDeps): AdmissionDecision {
  const { success, output } = v.safeParse(Metadata, request.oldObject);
  if (!success || LET_THROUGH.has(request.userInfo.username)) return { allowed: true };
  const { name, annotations, deletionTimestamp } = output.metadata;
  if (deletionTimestamp !== undefined) return { allowed: true };
  const { namespace } = request;
  if (isProtected(annotations)) {
    const lift = `kubectl annotate valkeycluster ${name} -n ${namespace} ${PROTECTION_ANNOTATION}-`;
    const message = `ValkeyCluster ${namespace}/${name} is protected against deletion by its annotation ${PROTECTION_ANNOTATION}; to delete it, first lift the protection with: ${lift}`;
    return { allowed: false, message };
  }
  return { allowed: true, warnings: fateOfVolumes(request, deps, name) };
}

/** Shown by kubectl right where it is deleted. */
function fateOfVolumes({ oldObject, namespace }: AdmissionRequest, { resolve }: AdmissionDeps, name: string): string[] {
  const pvc = resolvedVolume(oldObject, namespace, resolve);
  if (pvc === undefined) return [];
  if (pvc.whenDeleted === "Delete") {
    return [`spec.pvc.whenDeleted is Delete: the volumes of ${namespace}/${name} are deleted with all their data`];
  }
  return [
    `the volumes of ${namespace}/${name} are kept; to be rid of them: kubectl delete pvc -l valkey.io/cr=${name} -n ${namespace}`,
  ];
}

function resolvedVolume(object: unknown, namespace: string, resolve: AdmissionDeps["resolve"]) {
  try {
    return resolve(parseValkeyCluster(object).spec, namespace).pvc;
  } catch (error) {
    // A spec that cannot be read any more must not keep its cluster from being deleted.
    if (error instanceof ParseError) return undefined;
    throw error;
  }
}
