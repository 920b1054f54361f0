/** What a ValkeyCluster may ask for and its author should know about; shown by kubectl when it is applied. */
import type { ValkeyClusterSpec } from "../api/cluster-spec.ts";
import type { ResolvedClusterSpec } from "../api/resolve.ts";
import { effectiveSpec } from "./lifecycle/effective.ts";
import { formOf } from "./lifecycle/form.ts";

/** The API server may cut a warning that is longer than 256 characters. */
interface Warning {
  /** By what the user wrote, and by what it comes to with all defaults. */
  readonly when: (spec: ValkeyClusterSpec, resolved: ResolvedClusterSpec) => boolean;
  readonly say: string;
}

const WARNINGS: readonly Warning[] = [
  {
    when: (spec) => spec.replicasPerMaster === 0,
    say: "spec.replicasPerMaster is 0: a shard is unavailable while its only pod is away, and its data is lost with its volume",
  },
  {
    when: (spec) => spec.cluster?.migrationBarrier !== undefined,
    say: "spec.cluster.migrationBarrier has no effect: replicas are placed by the operator and never migrate",
  },
  {
    when: (spec) => spec.update?.strategy === "Surge",
    say: "spec.update.strategy Surge works like Rolling in this release: no pod is added before one is replaced",
  },
  {
    when: (_spec, { acl }) => acl === undefined,
    say: "spec.acl is not set: the cluster is open, and whoever reaches its port may read and change everything",
  },
  {
    when: (_spec, { pvc, suspended }) => pvc === undefined && suspended,
    say: "spec.suspended without spec.pvc: there are no volumes, so all data is lost with the pods",
  },
  {
    when: (spec, { pvc, suspended }) => pvc === undefined && !suspended && !persists(spec),
    say: "spec.pvc is not set: every pod that goes takes its copy of the data with it",
  },
  {
    when: (spec, { pvc }) => pvc === undefined && persists(spec),
    say: "spec.backup asks for persistence, but there is no spec.pvc: what is written is lost with the pod",
  },
  {
    when: (spec) => (spec.replication?.minReplicasToWrite ?? 0) > (spec.replicasPerMaster ?? Number.POSITIVE_INFINITY),
    say: "spec.replication.minReplicasToWrite is above spec.replicasPerMaster: no write will ever be accepted",
  },
];

function persists({ backup }: ValkeyClusterSpec): boolean {
  return backup?.aof?.enabled === true || backup?.database?.enabled === true;
}

export function warningsOf(spec: ValkeyClusterSpec, resolved: ResolvedClusterSpec): string[] {
  return WARNINGS.filter(({ when }) => when(spec, resolved)).map(({ say }) => say);
}

/** What of a change will be held back. Of what references stand for nothing is known here: their names are compared. */
export function heldWarnings(before: ResolvedClusterSpec, after: ResolvedClusterSpec): string[] {
  const { holds } = effectiveSpec(after, {}, { ...formOf(before, {}), tls: undefined, acl: undefined });
  const names = (["tls", "acl"] as const).filter((field) => before[field] !== after[field]);
  return [...holds.map(({ field }) => field), ...names].map(
    (field) =>
      `spec.${field}: this release cannot change it on a running cluster; the change is held back, and everything else is done; set the old value to clear this`,
  );
}
