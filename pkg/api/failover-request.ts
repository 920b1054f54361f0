/**
 * A failover that somebody asks for, as an annotation of the ValkeyCluster: it is carried out once for every new id, and
 * what came of it is in `status.failover`. `kubectl valkey failover` writes it; so may anybody with the same rights.
 */
import * as v from "valibot";
import { MAX_MASTERS } from "./cluster-spec.ts";

export const FAILOVER_ANNOTATION = "valkey.io/failover";
/** The verb on `valkeyclusters` that a person needs for it, beside the right to change the object. */
export const FAILOVER_VERB = "failover";

const request = v.strictObject({
  id: v.pipe(v.string(), v.regex(/^[a-z0-9][a-z0-9-]{5,62}$/, "must be 6 to 63 lower-case letters, digits and dashes")),
  shard: v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(MAX_MASTERS - 1)),
  to: v.optional(v.pipe(v.string(), v.maxLength(63), v.nonEmpty())),
  at: v.pipe(v.string(), v.isoTimestamp("must be a time such as 2026-01-02T03:04:05Z")),
});
export type FailoverRequest = v.InferOutput<typeof request>;

export type ReadRequest = { readonly request: FailoverRequest } | { readonly wrong: string };

const EXAMPLE = '{"id":"maintenance-1","shard":0,"at":"2026-01-02T03:04:05Z"}';

export function readFailoverRequest(text: string): ReadRequest {
  const { success, output, issues } = v.safeParse(request, parseJson(text));
  if (success) return { request: output };
  const [{ message }] = issues;
  const path = v.getDotPath(issues[0]);
  return {
    wrong: `the annotation ${FAILOVER_ANNOTATION} cannot be read: ${path === null ? "" : `${path}: `}${message}; it has to be like ${EXAMPLE}, with "to" for a certain replica`,
  };
}

export function failoverText(value: FailoverRequest): string {
  return JSON.stringify(value);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Said with what else may be wrong with it.
    return undefined;
  }
}
