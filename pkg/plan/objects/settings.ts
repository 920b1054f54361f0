/**
 * The lines of valkey.conf that are the same for every node: what the operator needs < fields of the spec < `config`.
 *
 * Not here, because it belongs to a node or is secret, and is added by the agent: ports and TLS (from Wire), paths and
 * sockets, announced addresses, users, and `maxmemory`, which follows the container's limit unless `config` sets it.
 * Every line is valid for each version of Valkey that we serve.
 */
import { milliseconds } from "../../api/duration.ts";
import type { ResolvedClusterSpec } from "../../api/resolve.ts";

/** A value as CONFIG SET takes it: the empty text is a value too. */
export interface SettingLine {
  readonly name: string;
  readonly value: string;
}

export function settingsOf(spec: ResolvedClusterSpec): SettingLine[] {
  const lines = new Map<string, string>();
  for (const [name, value] of [...operatorDefaults(spec), ...modelled(spec), ...free(spec)]) lines.set(name, value);
  return [...lines].map(([name, value]) => ({ name, value }));
}

type Pair = readonly [name: string, value: string];

function operatorDefaults(spec: ResolvedClusterSpec): Pair[] {
  return [
    // Who may come in is decided by users, certificates and network policies; without any of them the cluster is open.
    ["protected-mode", "no"],
    ["cluster-enabled", "yes"],
    // Roles are moved by agents, which know who is in sync; gossip does not.
    ["cluster-replica-no-failover", "yes"],
    ["cluster-allow-replica-migration", "no"],
    // Clients that check certificates need the names that those hold.
    ["cluster-preferred-endpoint-type", spec.tls === undefined ? "ip" : "hostname"],
    ...syncSoon(spec),
  ];
}

/**
 * A full sync begins when all replicas of the shard are there, or a second after the first: not after five. With one
 * there is nobody to wait for. Who has nothing yet loads what comes as it comes: a file in between costs a second.
 */
function syncSoon({ replicasPerMaster }: ResolvedClusterSpec): Pair[] {
  if (replicasPerMaster === 0) return [];
  return [
    ["repl-diskless-load", "on-empty-db"],
    ["repl-diskless-sync-delay", replicasPerMaster === 1 ? "0" : "1"],
    ["repl-diskless-sync-max-replicas", String(replicasPerMaster)],
  ];
}

function modelled({ cluster, replication, backup }: ResolvedClusterSpec): Pair[] {
  return [
    ["cluster-node-timeout", String(milliseconds(cluster.nodeTimeout))],
    ["cluster-require-full-coverage", yesNo(cluster.requireFullCoverage)],
    ["cluster-allow-reads-when-down", yesNo(cluster.allowReadsWhenDown)],
    ["replica-read-only", yesNo(cluster.replicaReadOnly)],
    ["repl-diskless-sync", yesNo(replication.disklessSync)],
    ["min-replicas-to-write", String(replication.minReplicasToWrite)],
    ["min-replicas-max-lag", String(replication.minReplicasMaxLag)],
    ["save", backup.database.enabled ? backup.database.save : ""],
    ["appendonly", yesNo(backup.aof.enabled)],
    ["appendfsync", backup.aof.appendfsync],
    ["auto-aof-rewrite-percentage", String(backup.aof.autoAofRewritePercentage)],
    ["auto-aof-rewrite-min-size", backup.aof.autoAofRewriteMinSize],
  ];
}

/** In the order of their names, so that the same words give the same configuration however they were written down. */
function free({ config = {} }: ResolvedClusterSpec): Pair[] {
  return Object.entries(config)
    .map(([name, value]) => [name.toLowerCase(), String(value)] as const)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
}

function yesNo(value: boolean): string {
  return value ? "yes" : "no";
}
