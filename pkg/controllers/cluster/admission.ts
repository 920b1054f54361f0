/** Admission of ValkeyClusters: what CEL rules in the CRD cannot say. Those hold also while no webhook runs. */
import { parseValkeyCluster, type ValkeyCluster } from "../../api/cluster.ts";
import type { ValkeyClusterSpec } from "../../api/cluster-spec.ts";
import { ParseError } from "../../api/parse-error.ts";
import type { ResolvedClusterSpec } from "../../api/resolve.ts";
import { heldWarnings, warningsOf } from "../../plan/warnings.ts";
import type { AdmissionDecision, AdmissionRequest } from "../../webhook/admission-review.ts";
import { admitDeletion } from "./admission-delete.ts";

export interface AdmissionDeps {
  /** The spec with the defaults that hold in its namespace. */
  readonly resolve: (spec: ValkeyClusterSpec, namespace: string) => ResolvedClusterSpec;
}

export function admitCluster(request: AdmissionRequest, deps: AdmissionDeps): AdmissionDecision {
  if (request.operation === "DELETE") return admitDeletion(request, deps);
  try {
    const cluster = parseValkeyCluster(request.object);
    return request.operation === "UPDATE" ? admitUpdate(cluster, request, deps) : admitNew(cluster, request, deps);
  } catch (error) {
    if (!(error instanceof ParseError)) throw error;
    // What goes must be able to go, whatever its spec: finalizers are removed by an update.
    if (isGoing(request.object)) return { allowed: true };
    return { allowed: false, code: 422, reason: "Invalid", message: error.message };
  }
}

function admitNew({ spec }: ValkeyCluster, { namespace }: AdmissionRequest, deps: AdmissionDeps): AdmissionDecision {
  return { allowed: true, warnings: warningsOf(spec, deps.resolve(spec, namespace)) };
}

function admitUpdate(after: ValkeyCluster, request: AdmissionRequest, deps: AdmissionDeps): AdmissionDecision {
  const before = stored(request.oldObject);
  if (before === undefined) return admitNew(after, request, deps);
  if (after.metadata.deletionTimestamp !== undefined || Bun.deepEquals(before.spec, after.spec))
    return { allowed: true };
  const { namespace } = request;
  const [old, now] = [deps.resolve(before.spec, namespace), deps.resolve(after.spec, namespace)];
  // A cluster that nobody has looked at yet is made as it is asked for.
  const held = before.status?.phase === undefined ? [] : heldWarnings(old, now);
  return { allowed: true, warnings: [...held, ...warningsOf(after.spec, now)] };
}

/** Stored by an older release, it may not be readable any more. */
function stored(object: unknown): ValkeyCluster | undefined {
  try {
    return parseValkeyCluster(object);
  } catch (error) {
    if (error instanceof ParseError) return undefined;
    throw error;
  }
}

function isGoing(object: unknown): boolean {
  if (typeof object !== "object" || object === null || !("metadata" in object)) return false;
  const { metadata } = object;
  return typeof metadata === "object" && metadata !== null && "deletionTimestamp" in metadata;
}
