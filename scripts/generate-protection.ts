/**
 * The policy by which the API server itself refuses to delete a protected ValkeyCluster. A deletion that is recorded
 * cannot be taken back, so refusing it must not depend on whether the operator runs.
 */
import { GROUP } from "../pkg/api/kind.ts";
import { celString } from "../pkg/api/openapi.ts";
import { LET_THROUGH } from "../pkg/controllers/cluster/admission-delete.ts";
import { PROTECTION_ANNOTATION } from "../pkg/plan/lifecycle/deletion.ts";

const API = "admissionregistration.k8s.io/v1";
const KEY = celString(PROTECTION_ANNOTATION);
const NAMESPACE = "oldObject.metadata.namespace";
const NAME = "oldObject.metadata.name";
const ANNOTATIONS = "oldObject.metadata.annotations";

/** The webhook says the same; whichever is asked first. */
const MESSAGE = [
  `'ValkeyCluster ' + ${NAMESPACE} + '/' + ${NAME} + ' is protected against deletion by its annotation '`,
  `${KEY} + '; to delete it, first lift the protection with: kubectl annotate valkeycluster '`,
  `${NAME} + ' -n ' + ${NAMESPACE} + ' ' + ${KEY} + '-'`,
].join(" + ");

export function deletionProtection(operator: string, labels: Readonly<Record<string, string>>): object[] {
  const name = `${operator}-deletion-protection`;
  const policy = {
    apiVersion: API,
    kind: "ValidatingAdmissionPolicy",
    metadata: { name, labels },
    spec: {
      failurePolicy: "Fail",
      matchConstraints: {
        resourceRules: [
          { apiGroups: [GROUP], apiVersions: ["*"], operations: ["DELETE"], resources: ["valkeyclusters"] },
        ],
      },
      matchConditions: [
        condition("protected", `has(${ANNOTATIONS}) && ${KEY} in ${ANNOTATIONS} && ${ANNOTATIONS}[${KEY}] == 'true'`),
        condition("not-going-already", "!has(oldObject.metadata.deletionTimestamp)"),
        condition("not-with-its-namespace", `!(request.userInfo.username in [${users()}])`),
      ],
      validations: [{ expression: "false", messageExpression: MESSAGE, reason: "Forbidden" }],
    },
  };
  const binding = {
    apiVersion: API,
    kind: "ValidatingAdmissionPolicyBinding",
    metadata: { name, labels },
    spec: { policyName: name, validationActions: ["Deny"] },
  };
  return [policy, binding];
}

function condition(name: string, expression: string) {
  return { name, expression };
}

function users(): string {
  return [...LET_THROUGH].map(celString).join(", ");
}
