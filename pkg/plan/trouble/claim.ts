/** A volume that is not there, or not yet. */
import { bytesOf } from "../objects/bytes.ts";
import type { NodeContext } from "./context.ts";
import type { ClaimFacts, ClusterFacts, StorageClassFacts } from "./facts.ts";
import type { Finding } from "./finding.ts";

/** A volume that is gone is a trouble at any time. */
export function lostVolume({ node }: NodeContext): Finding | undefined {
  const { claim } = node;
  if (claim?.status.phase !== "Lost") return undefined;
  return {
    reason: "VolumeLost",
    severity: "error",
    subject: claim.metadata.name,
    node: node.node,
    what: "the volume behind a claim is gone",
    fix: "Bring the PersistentVolume back if it exists. If its data is lost for good, delete the claim: the node gets an empty volume and copies from its shard.",
  };
}

/** A volume that is to grow and has not: the storage does that, in its own time. */
export function growingVolume({ node, facts, patience }: NodeContext): Finding | undefined {
  const { claim } = node;
  const asked = claim?.spec.resources.requests["storage"];
  const has = claim?.status.capacity["storage"];
  if (claim === undefined || has === undefined || bytesOf(asked) <= bytesOf(has)) return undefined;
  const { name } = claim.metadata;
  const pending = mountPendingSince(claim);
  const overdue = pending !== undefined && patience.over(pending, MOUNT_MS);
  return {
    reason: "VolumeGrows",
    severity: "notice",
    subject: name,
    node: node.node,
    what: `volumes have ${has} of ${asked}: ${growth(pending, overdue)}`,
    fix: `The servers go on meanwhile. kubectl describe pvc ${name} -n ${facts.namespace} shows what the storage says.`,
  };
}

function growth(pending: string | undefined, overdue: boolean): string {
  if (pending === undefined) return "the storage has not made them grow yet";
  if (!overdue) return "the file systems in them have still to grow";
  return "the file systems in them grow when they are mounted anew, for which pods are replaced one after the other";
}

/** Within seconds kubelet makes a file system grow that is in use, where the driver can. */
export const MOUNT_MS = 60_000;

/** Since when the volume behind a claim is larger than the file system in it, as far as Kubernetes tells. */
export function mountPendingSince(claim: ClaimFacts | undefined): string | undefined {
  const isPending = (type: string, status: string) => type === "FileSystemResizePending" && status === "True";
  return claim?.status.conditions.find(({ type, status }) => isPending(type, status))?.lastTransitionTime;
}

/** To be asked only when the scheduler says that a pod waits for its claim: many claims are pending until their pod runs. */
export function pendingVolume({ node, facts }: NodeContext): Finding {
  const { claim } = node;
  const what = claim === undefined ? { what: "volumes are not there", fix: COMES_BACK } : pending(claim, facts);
  const subject = claim?.metadata.name ?? node.node;
  return { reason: "VolumePending", severity: "error", subject, node: node.node, ...what };
}

const COMES_BACK = "The operator makes the claims again if they were deleted; kubectl get pvc shows them.";

function pending(claim: ClaimFacts, { storageClasses, namespace }: ClusterFacts): Pick<Finding, "what" | "fix"> {
  const wrongClass = storageClasses === undefined ? undefined : classFinding(claim, storageClasses);
  return (
    wrongClass ?? {
      what: "volumes are not provided",
      fix: `kubectl describe pvc ${claim.metadata.name} -n ${namespace} shows what the storage says.`,
    }
  );
}

function classFinding(
  { spec: { storageClassName = "" } }: ClaimFacts,
  classes: readonly StorageClassFacts[],
): Pick<Finding, "what" | "fix"> | undefined {
  const known = classes.map(({ name }) => name).toSorted();
  const there = known.length === 0 ? "this cluster has none" : `this cluster has ${known.join(", ")}`;
  if (storageClassName !== "") {
    if (known.includes(storageClassName)) return undefined;
    return {
      what: `volumes wait for StorageClass ${storageClassName}, which does not exist; ${there}`,
      fix: "Make that StorageClass, or delete this ValkeyCluster and make it again with another spec.pvc.storageClassName.",
    };
  }
  if (classes.some(({ isDefault }) => isDefault)) return undefined;
  return {
    what: `volumes wait for a default StorageClass, and there is none; ${there}`,
    fix: "Make one the default (annotation storageclass.kubernetes.io/is-default-class), or name one in spec.pvc.storageClassName of a new ValkeyCluster.",
  };
}
