/**
 * The spec that is carried out now: what was asked for, with what this release cannot change on a running cluster left as
 * it runs. Each such difference is a hold; everything else goes on. So a change is made whole or not at all.
 */
import type { ResolvedClusterSpec } from "../../api/resolve.ts";
import { bytesOf } from "../objects/bytes.ts";
import type { Form, References } from "./form.ts";
import { heldReason } from "./held-reason.ts";
import type { HeldChange } from "./hold.ts";
import { effectiveAcl, effectiveTls } from "./reference.ts";

export interface Effective extends References {
  readonly spec: ResolvedClusterSpec;
  readonly holds: readonly HeldChange[];
}

/**
 * `running` is undefined for a cluster that is not made yet: it is made as it is asked for. `fixedClass` is a StorageClass
 * of its volumes that is known not to let them grow.
 */
export function effectiveSpec(
  spec: ResolvedClusterSpec,
  references: References,
  running: Form | undefined,
  fixedClass?: string,
): Effective {
  if (running === undefined) return { spec, ...references, holds: [] };
  const tls = effectiveTls({ asked: spec.tls, there: references.tls, running: running.tls });
  const acl = effectiveAcl({ asked: spec.acl, there: references.acl, running: running.acl });
  const { tls: _tls, acl: _acl, pvc: _pvc, ...rest } = spec;
  return {
    spec: {
      ...rest,
      masterCount: running.masterCount,
      replicasPerMaster: running.replicasPerMaster,
      podManagementType: running.podManagementType,
      unbound: false,
      ...(tls.name === undefined ? {} : { tls: tls.name }),
      ...(acl.name === undefined ? {} : { acl: acl.name }),
      ...volumeOf(spec, running, fixedClass),
    },
    ...(tls.spec === undefined ? {} : { tls: tls.spec }),
    ...(acl.spec === undefined ? {} : { acl: acl.spec }),
    holds: [...shapeHolds(spec, running), ...volumeHolds(spec, running, fixedClass), ...tls.holds, ...acl.holds],
  };
}

/** What becomes of volumes may change at any time; they may grow, and their class stays. */
function volumeOf(
  { pvc }: ResolvedClusterSpec,
  { storage }: Form,
  fixedClass: string | undefined,
): Pick<ResolvedClusterSpec, "pvc"> {
  if (storage === undefined) return {};
  const { whenDeleted, whenScaled } = pvc ?? KEPT;
  const { size, storageClassName } = storage;
  const grows = pvc !== undefined && fixedClass === undefined && bytesOf(pvc.storageSize) > bytesOf(size);
  return {
    pvc: {
      storageSize: grows ? pvc.storageSize : size,
      whenDeleted,
      whenScaled,
      ...(storageClassName === undefined ? {} : { storageClassName }),
    },
  };
}

const KEPT = { whenDeleted: "Retain", whenScaled: "Retain" } as const;

function shapeHolds(spec: ResolvedClusterSpec, running: Form): HeldChange[] {
  const { masterCount, replicasPerMaster, podManagementType } = running;
  return [
    ...differs(spec.masterCount, masterCount, {
      name: "shards-are-fixed",
      runs: `${masterCount} shards run`,
      field: "masterCount",
      what: "change the number of shards",
    }),
    ...differs(spec.replicasPerMaster, replicasPerMaster, {
      name: "replicas-are-fixed",
      runs: `every shard runs with ${replicasPerMaster} ${replicasPerMaster === 1 ? "replica" : "replicas"}`,
      field: "replicasPerMaster",
      what: "change the number of replicas",
    }),
    ...differs(spec.podManagementType, podManagementType, {
      name: "workload-is-fixed",
      runs: `the pods run as ${podManagementType}`,
      field: "podManagementType",
      what: "change the kind of workload",
    }),
    ...differs(spec.unbound, false, {
      name: "binding-is-fixed",
      runs: "the operator runs this cluster",
      field: "unbound",
      what: "hand over",
    }),
  ];
}

function volumeHolds(
  { pvc }: ResolvedClusterSpec,
  { storage }: Form,
  fixedClass: string | undefined,
): readonly HeldChange[] {
  const size = { name: "volumes-are-fixed", field: "pvc.storageSize", what: "change the volumes" };
  if (storage === undefined)
    return differs(pvc?.storageSize, undefined, { ...size, runs: "the pods run without volumes" });
  const runs = `the pods run with volumes of ${storage.size}`;
  if (pvc === undefined) return differs(undefined, storage.size, { ...size, runs });
  const className = { ...size, runs: `the volumes are of class ${storage.storageClassName ?? "(default)"}` };
  return [
    ...sizeHolds(pvc.storageSize, storage.size, fixedClass),
    ...differs(pvc.storageClassName, storage.storageClassName, { ...className, field: "pvc.storageClassName" }),
  ];
}

function sizeHolds(asked: string, runs: string, fixedClass: string | undefined): readonly HeldChange[] {
  const more = bytesOf(asked) - bytesOf(runs);
  const field = "pvc.storageSize";
  if (more < 0) {
    const reason = `the volumes have ${runs}, spec.${field} asks for ${asked}: volumes cannot shrink, so nothing was changed; set it to ${runs} (or the default that it comes from), or make a new ValkeyCluster with smaller volumes and move the data`;
    return [{ name: "volumes-only-grow", field, reason }];
  }
  if (more === 0 || fixedClass === undefined) return [];
  const reason = `the volumes have ${runs}, spec.${field} asks for ${asked}: StorageClass ${fixedClass} does not let volumes grow, so nothing was changed; set allowVolumeExpansion there if its driver can do it, or make a new ValkeyCluster of another class and move the data`;
  return [{ name: "volumes-can-grow", field, reason }];
}

interface Words {
  readonly name: string;
  readonly runs: string;
  readonly field: string;
  readonly what: string;
}

type Value = string | number | boolean | undefined;

function differs(asked: Value, runs: Value, words: Words): HeldChange[] {
  if (asked === runs) return [];
  return [
    { name: words.name, field: words.field, reason: heldReason({ ...words, asked: shown(asked), back: shown(runs) }) },
  ];
}

function shown(value: Value): string | undefined {
  return value === undefined ? undefined : String(value);
}
