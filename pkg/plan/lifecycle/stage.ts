/** Which of a cluster's lives it is in; each has a plan of its own. */
import type { ResolvedClusterSpec } from "../../api/resolve.ts";
import type { Form } from "./form.ts";

export type Stage =
  /** planDeletion; if that says that the cluster is protected, as if nobody had deleted it. */
  | "delete"
  /** It was made unbound: nothing is made. */
  | "leave"
  /** planStop. With nothing made yet everything is made, without pods. */
  | "suspend"
  | "run";

export function stageOf(spec: ResolvedClusterSpec, running: Form | undefined, deleting: boolean): Stage {
  if (deleting) return "delete";
  if (running === undefined && spec.unbound) return "leave";
  return spec.suspended ? "suspend" : "run";
}
