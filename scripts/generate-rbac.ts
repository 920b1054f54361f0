/** What the operator may do: the least with which every controller works, for the whole cluster or one namespace. */
import { KINDS } from "../pkg/api/api.ts";
import { crdName } from "../pkg/api/crd.ts";
import { GROUP } from "../pkg/api/kind.ts";

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
}

export interface Subject {
  readonly name: string;
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
}

const READ = ["get", "list", "watch"] as const;
const WRITE = ["create", "update", "patch", "delete"] as const;
const RBAC = "rbac.authorization.k8s.io";

/** In every namespace with a deployment of ours. */
function workRules(): Rule[] {
  const plurals = KINDS.map(({ names }) => names.plural);
  return [
    { apiGroups: [GROUP], resources: plurals, verbs: [...READ, ...WRITE] },
    { apiGroups: [GROUP], resources: plurals.map((plural) => `${plural}/status`), verbs: ["get", "update", "patch"] },
    { apiGroups: [GROUP], resources: plurals.map((plural) => `${plural}/finalizers`), verbs: ["update"] },
    {
      apiGroups: [""],
      resources: ["services", "configmaps", "secrets", "persistentvolumeclaims"],
      verbs: [...READ, ...WRITE],
    },
    // Pods are made by their workload; the operator reads, labels and deletes them.
    { apiGroups: [""], resources: ["pods"], verbs: [...READ, "patch", "delete"] },
    { apiGroups: ["apps"], resources: ["statefulsets", "deployments"], verbs: [...READ, ...WRITE] },
    { apiGroups: ["policy"], resources: ["poddisruptionbudgets"], verbs: [...READ, ...WRITE] },
    { apiGroups: ["networking.k8s.io"], resources: ["networkpolicies"], verbs: [...READ, ...WRITE] },
    // Read, because a StatefulSet says in an event alone that its pod was refused.
    { apiGroups: ["events.k8s.io"], resources: ["events"], verbs: [...READ, "create", "patch"] },
  ];
}

/** Only with the rights of the whole cluster. */
function clusterRules(): Rule[] {
  return [
    { apiGroups: [""], resources: ["nodes"], verbs: [...READ] },
    { apiGroups: ["storage.k8s.io"], resources: ["storageclasses"], verbs: [...READ] },
    // The webhook asks whether whoever asks for a failover may.
    { apiGroups: ["authorization.k8s.io"], resources: ["subjectaccessreviews"], verbs: ["create"] },
    ...crdRules(),
    {
      apiGroups: ["admissionregistration.k8s.io"],
      resources: ["validatingwebhookconfigurations", "mutatingwebhookconfigurations"],
      verbs: ["create"],
    },
    {
      apiGroups: ["admissionregistration.k8s.io"],
      resources: ["validatingwebhookconfigurations", "mutatingwebhookconfigurations"],
      verbs: ["get", "update", "patch", "delete"],
      resourceNames: ["valkey-operator"],
    },
  ];
}

/** In the operator's own namespace. */
function ownRules(): Rule[] {
  return [{ apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: [...READ, "create", "update", "patch"] }];
}

/** Its own CRDs and no others, as far as RBAC can say it: a right to create cannot be bound to a name. */
function crdRules(): Rule[] {
  const what = { apiGroups: ["apiextensions.k8s.io"], resources: ["customresourcedefinitions"] };
  return [
    { ...what, verbs: ["create"] },
    { ...what, verbs: ["get", "patch"], resourceNames: KINDS.map(crdName) },
  ];
}

function role(kind: "Role" | "ClusterRole", { name, namespace, labels }: Subject, rules: readonly Rule[]) {
  const metadata = kind === "Role" ? { name, namespace, labels } : { name, labels };
  return { apiVersion: `${RBAC}/v1`, kind, metadata, rules };
}

function binding(kind: "Role" | "ClusterRole", { name, namespace, labels }: Subject) {
  return {
    apiVersion: `${RBAC}/v1`,
    kind: `${kind}Binding`,
    metadata: kind === "Role" ? { name, namespace, labels } : { name, labels },
    roleRef: { apiGroup: RBAC, kind, name },
    subjects: [{ kind: "ServiceAccount", name, namespace }],
  };
}

export function clusterRoles(subject: Subject) {
  return [
    role("ClusterRole", subject, [...workRules(), ...clusterRules()]),
    binding("ClusterRole", subject),
    role("Role", subject, ownRules()),
    binding("Role", subject),
  ];
}

/**
 * Outside its namespace it has rights to its own CRDs only. Where even that is too much, leave out the ClusterRole and its
 * binding, and let an administrator apply manifests/crds.
 */
export function namespacedRoles(subject: Subject) {
  const crds = { ...subject, name: `${subject.name}-crds` };
  const reader = {
    ...binding("ClusterRole", crds),
    subjects: [{ kind: "ServiceAccount", name: subject.name, namespace: subject.namespace }],
  };
  return [
    role("Role", subject, [...workRules(), ...ownRules()]),
    binding("Role", subject),
    role("ClusterRole", crds, crdRules()),
    reader,
  ];
}
