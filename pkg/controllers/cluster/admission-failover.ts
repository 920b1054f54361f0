/**
 * A failover asked for by annotation: what is wrong with it is said before it is stored, and who asks needs the verb
 * `failover` on this cluster beside the right to change it. Fails open like the rest of the webhook: whoever may change a
 * ValkeyCluster can do its servers more harm than this.
 */
import * as v from "valibot";
import { parseValkeyCluster, type ValkeyCluster } from "../../api/cluster.ts";
import {
  FAILOVER_ANNOTATION,
  FAILOVER_VERB,
  type FailoverRequest,
  readFailoverRequest,
} from "../../api/failover-request.ts";
import { isOver } from "../../plan/failover/view.ts";
import type { AdmissionDecision, AdmissionRequest } from "../../webhook/admission-review.ts";
import { type AdmissionDeps, admitCluster } from "./admission.ts";

export interface FailoverDeps extends AdmissionDeps {
  /** Asks the API server, with a SubjectAccessReview. */
  readonly may: (question: AccessQuestion, signal: AbortSignal) => Promise<boolean>;
}

/** May this person do this to the cluster? */
export interface AccessQuestion {
  readonly user: AdmissionRequest["userInfo"];
  readonly verb: string;
  readonly namespace: string;
  readonly name: string;
}

export async function admitChange(
  request: AdmissionRequest,
  deps: FailoverDeps,
  signal: AbortSignal,
): Promise<AdmissionDecision> {
  const decision = admitCluster(request, deps);
  if (!decision.allowed || request.operation !== "UPDATE") return decision;
  const cluster = parseValkeyCluster(request.object);
  const text = cluster.metadata.annotations?.[FAILOVER_ANNOTATION];
  if (text === undefined || text === annotationOf(request.oldObject)) return decision;
  const read = readFailoverRequest(text);
  const wrong = "wrong" in read ? read.wrong : wrongRequest(cluster, read.request);
  if (wrong !== undefined) return { allowed: false, code: 422, reason: "Invalid", message: wrong };
  return (await withoutRight(request, deps, signal)) ?? decision;
}

const Annotated = v.object({ metadata: v.object({ annotations: v.record(v.string(), v.string()) }) });

/** Of an object that an older release may have stored. */
function annotationOf(object: unknown): string | undefined {
  const { success, output } = v.safeParse(Annotated, object);
  return success ? output.metadata.annotations[FAILOVER_ANNOTATION] : undefined;
}

function wrongRequest({ metadata, spec, status }: ValkeyCluster, request: FailoverRequest): string | undefined {
  const { id, shard, to } = request;
  const { shards = [], failover } = status ?? {};
  if (spec.suspended === true) return "a suspended cluster has no primary that could hand over";
  const led = shards.find(({ index }) => index === shard);
  if (led === undefined) return `there is no shard ${shard}: there are ${shards.map(({ index }) => index).join(", ")}`;
  if (failover !== undefined && failover.id !== id && !isOver(failover)) {
    return `the failover ${failover.id} of shard ${failover.shard} is under way; status.failover tells when it is over`;
  }
  return to === undefined ? undefined : wrongSuccessor(metadata.name, led, to);
}

type Shard = NonNullable<NonNullable<ValkeyCluster["status"]>["shards"]>[number];

function wrongSuccessor(cluster: string, { index, primary, replicas = [] }: Shard, to: string): string | undefined {
  if (to === primary) return `${to} leads shard ${index} already`;
  if (replicas.some(({ name }) => name === to)) return undefined;
  const names = replicas.map(({ name }) => name).join(", ");
  return `${to} is no replica of shard ${index} of ${cluster}: there ${names === "" ? "are none" : `is ${names}`}`;
}

async function withoutRight(
  { userInfo: user, namespace, name }: AdmissionRequest,
  { may }: FailoverDeps,
  signal: AbortSignal,
): Promise<AdmissionDecision | undefined> {
  if (await may({ user, verb: FAILOVER_VERB, namespace, name }, signal)) return undefined;
  const message = `${user.username} may not make ValkeyCluster ${namespace}/${name} fail over: that needs the verb ${FAILOVER_VERB} on valkeyclusters of API group valkey.io in namespace ${namespace}`;
  return { allowed: false, message };
}
