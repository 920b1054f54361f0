/** Asks the API server what a person may do: a SubjectAccessReview, which changes nothing. */
import * as v from "valibot";
import { GROUP } from "../../api/kind.ts";
import type { KubeClient } from "../../kube/client.ts";
import type { AccessQuestion } from "./admission-failover.ts";

const PATH = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
const Answer = v.object({ status: v.object({ allowed: v.boolean() }) });

export async function mayChange(
  client: KubeClient,
  { user, verb, namespace, name }: AccessQuestion,
  signal: AbortSignal,
): Promise<boolean> {
  const { username, uid, groups, extra } = user;
  const resourceAttributes = { group: GROUP, resource: "valkeyclusters", verb, namespace, name };
  const body = {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SubjectAccessReview",
    spec: { user: username, uid, groups, extra, resourceAttributes },
  };
  const action = `ask whether ${username} may ${verb} ValkeyCluster ${namespace}/${name}`;
  const text = await client.raw({ method: "POST", path: PATH, action, body, signal });
  return v.parse(Answer, JSON.parse(text)).status.allowed;
}
