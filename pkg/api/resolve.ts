/**
 * The spec that a ValkeyCluster comes to: built in values < the operator's ValkeyClusterDefaults < those of the
 * namespace < the ValkeyCluster. Objects and maps are merged key by key, so that a default for one field survives the
 * user's word on its neighbour. Three things are taken whole from the strongest layer that has them: lists; `resources`,
 * because a request of one layer above a limit of another makes a pod that Kubernetes refuses; and the affinities,
 * because half of one and half of another is a rule that nobody wrote.
 */
import * as v from "valibot";
import { clusterSpecObject, groups, type ValkeyClusterSpec } from "./cluster-spec.ts";
import type { BUILT_IN_DEFAULTS } from "./defaults.ts";

const WHOLE: ReadonlySet<string> = new Set(["resources", "podAntiAffinity", "podAffinity", "nodeAffinity"]);

const { entries } = clusterSpecObject;
const image = v.object({ ...groups.image, imagePullSecrets: v.optional(groups.image.imagePullSecrets, []) });

/** The spec with every field given that has a built in value; names that say "none" and unused groups are left out. */
const resolvedSpec = v.object({
  ...entries,
  valkeyImage: image,
  masterCount: v.required(clusterSpecObject).entries.masterCount,
  replicasPerMaster: v.required(clusterSpecObject).entries.replicasPerMaster,
  suspended: v.boolean(),
  unbound: v.boolean(),
  cluster: v.object(groups.cluster),
  azDistribution: v.optional(v.object(groups.azDistribution)),
  replication: v.object(groups.replication),
  rebalance: v.object(groups.rebalance),
  operatorMtls: v.object(groups.operatorMtls),
  update: v.object(groups.update),
  resources: v.required(clusterSpecObject).entries.resources,
  securityContext: v.required(clusterSpecObject).entries.securityContext,
  podManagementType: v.required(clusterSpecObject).entries.podManagementType,
  pvc: v.optional(v.object({ ...groups.pvc, storageClassName: v.optional(groups.pvc.storageClassName) })),
  backup: v.object({ database: v.object(groups.database), aof: v.object(groups.aof) }),
  service: v.object(groups.service),
  readService: v.object(groups.readService),
  networkPolicy: v.object(groups.networkPolicy),
  exporter: v.object({ ...groups.exporter, image }),
});
export type ResolvedClusterSpec = v.InferOutput<typeof resolvedSpec>;

/** A layer that does not exist is given as undefined. The result shares nothing with the layers. */
export function resolveSpec(
  builtIn: typeof BUILT_IN_DEFAULTS,
  operatorDefaults: ValkeyClusterSpec | null | undefined,
  namespaceDefaults: ValkeyClusterSpec | null | undefined,
  spec: ValkeyClusterSpec,
): ResolvedClusterSpec {
  const layers = [builtIn, operatorDefaults, namespaceDefaults, spec];
  const merged = layers.reduce<Plain>((below, above) => merge(below, isPlain(above) ? above : {}), {});
  return v.parse(resolvedSpec, structuredClone(withoutUnused(merged)));
}

type Plain = Readonly<Record<string, unknown>>;

function merge(below: Plain, above: Plain): Plain {
  const given = Object.entries(above).filter(([, value]) => value !== undefined && value !== null);
  return { ...below, ...Object.fromEntries(given.map(([key, value]) => [key, mergeField(key, below[key], value)])) };
}

function mergeField(key: string, below: unknown, above: unknown): unknown {
  return isPlain(below) && isPlain(above) && !WHOLE.has(key) ? merge(below, above) : above;
}

function isPlain(value: unknown): value is Plain {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A volume is asked for by its size, a distribution by its zones, TLS and users by a name. */
function withoutUnused(spec: Plain): Plain {
  const { pvc, azDistribution, ...rest } = spec;
  const named = Object.entries(rest).filter(([key, value]) => !(NAMES.has(key) && value === ""));
  return {
    ...Object.fromEntries(named),
    ...(isPlain(pvc) && pvc["storageSize"] !== undefined ? { pvc: withoutEmptyClass(pvc) } : {}),
    ...(isPlain(azDistribution) && hasZones(azDistribution["zones"]) ? { azDistribution } : {}),
  };
}

const NAMES: ReadonlySet<string> = new Set(["tls", "acl", "priorityClassName", "serviceAccountName"]);

function hasZones(zones: unknown): boolean {
  return Array.isArray(zones) && zones.length > 0;
}

function withoutEmptyClass({ storageClassName, ...pvc }: Plain): Plain {
  return storageClassName === undefined || storageClassName === "" ? pvc : { ...pvc, storageClassName };
}
