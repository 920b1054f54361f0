/** Owner references: who made an object, and with whom it goes. */
import { apiVersionOf, type KubeObject, keyOf, type OwnerReference, type ResourceName } from "./resource.ts";

/** For objects in the owner's namespace only: garbage collection deletes at once what names an owner elsewhere. */
export function controllerReference(resource: ResourceName, owner: KubeObject): OwnerReference {
  const { name, uid } = owner.metadata;
  if (uid === undefined || uid === "") {
    throw new TypeError(`${resource.kind} ${keyOf(owner)} cannot own anything: it has no uid, it was never stored`);
  }
  return {
    apiVersion: apiVersionOf(resource),
    kind: resource.kind,
    name,
    uid,
    controller: true,
    blockOwnerDeletion: true,
  };
}

/** The one owner that answers for the object. */
export function controllerOf(object: KubeObject): OwnerReference | undefined {
  return object.metadata.ownerReferences?.find(({ controller }) => controller === true);
}

export function isControlledBy(object: KubeObject, owner: KubeObject): boolean {
  const uid = owner.metadata.uid;
  return uid !== undefined && controllerOf(object)?.uid === uid;
}

/** The key of the owner of a kind, to be queued when the object changes. */
export function ownerKey(object: KubeObject, resource: ResourceName): string | undefined {
  const owner = controllerOf(object);
  if (owner === undefined || owner.kind !== resource.kind || groupOf(owner) !== resource.group) return undefined;
  const { namespace } = object.metadata;
  return namespace === undefined || !resource.namespaced ? owner.name : `${namespace}/${owner.name}`;
}

function groupOf({ apiVersion }: OwnerReference): string {
  const slash = apiVersion.indexOf("/");
  return slash < 0 ? "" : apiVersion.slice(0, slash);
}
