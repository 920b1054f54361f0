/** What a CRD's status says. */
import * as v from "valibot";
import type { LooseObject } from "../../kube/resource.ts";

const WithConditions = v.object({
  status: v.object({ conditions: v.array(v.object({ type: v.string(), status: v.string() })) }),
});

/** Whether the API server serves the kind. */
export function hasEstablished(crd: LooseObject): boolean {
  const read = v.safeParse(WithConditions, crd);
  if (!read.success) return false;
  return read.output.status.conditions.some(({ type, status }) => type === "Established" && status === "True");
}
