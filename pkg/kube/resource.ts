/**
 * What the API server stores, by name: kinds as plain values, the metadata every object carries, paths and keys.
 *
 * A Resource carries the parser that turns the server's JSON into the type its callers use. The parser is also the
 * projection: what it leaves out is not kept anywhere.
 */
import * as v from "valibot";

/** Turns what the server sent into a T, or throws with a message that names the field. */
export type Parse<T> = (value: unknown) => T;

export interface ResourceName {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

export interface Resource<T = LooseObject> extends ResourceName {
  readonly parse: Parse<T>;
}

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean | undefined;
  readonly blockOwnerDeletion?: boolean | undefined;
}

export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string | undefined;
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
  readonly generation?: number | undefined;
  readonly creationTimestamp?: string | undefined;
  readonly deletionTimestamp?: string | undefined;
  readonly deletionGracePeriodSeconds?: number | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
  readonly ownerReferences?: readonly OwnerReference[] | undefined;
  readonly finalizers?: readonly string[] | undefined;
}

export interface KubeObject {
  readonly apiVersion?: string | undefined;
  readonly kind?: string | undefined;
  readonly metadata: ObjectMeta;
}

/** An object whose metadata has been checked and whose other fields are still unknown. */
export interface LooseObject extends KubeObject {
  readonly [field: string]: unknown;
}

export interface ObjectRef {
  readonly namespace?: string | undefined;
  readonly name: string;
}

const StringMap = v.record(v.string(), v.string());

const OwnerReferenceSchema = v.object({
  apiVersion: v.string(),
  kind: v.string(),
  name: v.string(),
  uid: v.string(),
  controller: v.optional(v.boolean()),
  blockOwnerDeletion: v.optional(v.boolean()),
});

/** For projections: `v.object({ metadata: ObjectMetaSchema, spec: … })`. Managed fields are left out by design. */
export const ObjectMetaSchema = v.object({
  name: v.string(),
  namespace: v.optional(v.string()),
  uid: v.optional(v.string()),
  resourceVersion: v.optional(v.string()),
  generation: v.optional(v.number()),
  creationTimestamp: v.optional(v.string()),
  deletionTimestamp: v.optional(v.string()),
  deletionGracePeriodSeconds: v.optional(v.number()),
  labels: v.optional(StringMap),
  annotations: v.optional(StringMap),
  ownerReferences: v.optional(v.array(OwnerReferenceSchema)),
  finalizers: v.optional(v.array(v.string())),
});

const LooseObjectSchema = v.looseObject({
  apiVersion: v.optional(v.string()),
  kind: v.optional(v.string()),
  metadata: v.looseObject(ObjectMetaSchema.entries),
});

/** Checks the metadata and keeps every field. */
export function parseLoose(value: unknown): LooseObject {
  return v.parse(LooseObjectSchema, value);
}

export function defineResource(name: ResourceName): Resource {
  return { ...name, parse: parseLoose };
}

/** The same kind, read as a T. */
export function typed<T>(name: ResourceName, parse: Parse<T>): Resource<T> {
  const { group, version, plural, kind, namespaced } = name;
  return { group, version, plural, kind, namespaced, parse };
}

type Shape = readonly [group: string, version: string, plural: string, kind: string];

const inNamespace = ([group, version, plural, kind]: Shape): Resource =>
  defineResource({ group, version, plural, kind, namespaced: true });
const clusterWide = ([group, version, plural, kind]: Shape): Resource =>
  defineResource({ group, version, plural, kind, namespaced: false });

export const PODS = inNamespace(["", "v1", "pods", "Pod"]);
export const SERVICES = inNamespace(["", "v1", "services", "Service"]);
export const SECRETS = inNamespace(["", "v1", "secrets", "Secret"]);
export const CONFIG_MAPS = inNamespace(["", "v1", "configmaps", "ConfigMap"]);
export const PVCS = inNamespace(["", "v1", "persistentvolumeclaims", "PersistentVolumeClaim"]);
export const SERVICE_ACCOUNTS = inNamespace(["", "v1", "serviceaccounts", "ServiceAccount"]);
export const STATEFUL_SETS = inNamespace(["apps", "v1", "statefulsets", "StatefulSet"]);
export const DEPLOYMENTS = inNamespace(["apps", "v1", "deployments", "Deployment"]);
export const JOBS = inNamespace(["batch", "v1", "jobs", "Job"]);
export const PDBS = inNamespace(["policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget"]);
export const NETWORK_POLICIES = inNamespace(["networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy"]);
export const ENDPOINT_SLICES = inNamespace(["discovery.k8s.io", "v1", "endpointslices", "EndpointSlice"]);
export const LEASES = inNamespace(["coordination.k8s.io", "v1", "leases", "Lease"]);
export const EVENTS = inNamespace(["events.k8s.io", "v1", "events", "Event"]);
export const ROLES = inNamespace(["rbac.authorization.k8s.io", "v1", "roles", "Role"]);
export const ROLE_BINDINGS = inNamespace(["rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding"]);

export const NAMESPACES = clusterWide(["", "v1", "namespaces", "Namespace"]);
export const NODES = clusterWide(["", "v1", "nodes", "Node"]);
export const PVS = clusterWide(["", "v1", "persistentvolumes", "PersistentVolume"]);
export const STORAGE_CLASSES = clusterWide(["storage.k8s.io", "v1", "storageclasses", "StorageClass"]);
export const CRDS = clusterWide([
  "apiextensions.k8s.io",
  "v1",
  "customresourcedefinitions",
  "CustomResourceDefinition",
]);
export const VALIDATING_WEBHOOKS = clusterWide([
  "admissionregistration.k8s.io",
  "v1",
  "validatingwebhookconfigurations",
  "ValidatingWebhookConfiguration",
]);
export const MUTATING_WEBHOOKS = clusterWide([
  "admissionregistration.k8s.io",
  "v1",
  "mutatingwebhookconfigurations",
  "MutatingWebhookConfiguration",
]);

/** `v1`, `apps/v1` */
export function apiVersionOf(resource: ResourceName): string {
  return resource.group === "" ? resource.version : `${resource.group}/${resource.version}`;
}

/** The path of all objects of a kind; with a namespace, of those in it. */
export function collectionPath(resource: ResourceName, namespace?: string): string {
  const root = resource.group === "" ? "/api" : `/apis/${resource.group}`;
  if (namespace === undefined || !resource.namespaced) return `${root}/${resource.version}/${resource.plural}`;
  return `${root}/${resource.version}/namespaces/${segment(namespace)}/${resource.plural}`;
}

/** The path of one object. A namespaced kind without a namespace is a mistake of ours, so it throws. */
export function objectPath(resource: ResourceName, ref: ObjectRef, subresource?: string): string {
  if (resource.namespaced && ref.namespace === undefined) {
    throw new TypeError(`${resource.kind} ${ref.name}: a namespaced kind needs a namespace`);
  }
  const path = `${collectionPath(resource, ref.namespace)}/${segment(ref.name)}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
}

/** Names may come from users: none may climb out of its place in the path. */
function segment(name: string): string {
  if (name === "" || name === "." || name === ".." || name.includes("/")) {
    throw new TypeError(`${JSON.stringify(name)} cannot be the name of a Kubernetes object`);
  }
  return encodeURIComponent(name);
}

/** `namespace/name`, or `name` for kinds without a namespace. */
export function keyOf(object: KubeObject): string {
  return keyOfRef(object.metadata);
}

export function keyOfRef(ref: ObjectRef): string {
  return ref.namespace === undefined || ref.namespace === "" ? ref.name : `${ref.namespace}/${ref.name}`;
}

export function refOfKey(key: string): ObjectRef {
  const slash = key.indexOf("/");
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

export function refOf(object: KubeObject): ObjectRef {
  const { namespace, name } = object.metadata;
  return namespace === undefined || namespace === "" ? { name } : { namespace, name };
}
