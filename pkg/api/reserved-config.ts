/**
 * Keys of valkey.conf that `spec.config` may not set, each with the field to use instead. The CRD's CEL rules, the API
 * reference and the webhooks all read this table. Every key with a field of its own is here, so that a value never has
 * two places that could disagree.
 */
import { celString } from "./openapi.ts";
import type { Rule } from "./schema.ts";

export interface Reserved {
  /** A key, or with a star at the end every key that begins so. */
  readonly keys: readonly string[];
  readonly instead: string;
}

export const RESERVED_CONFIG: readonly Reserved[] = [
  { keys: ["port", "tls-*"], instead: "ports and TLS are set in the ValkeyClusterTls that spec.tls names" },
  {
    keys: [
      "aclfile",
      "user",
      "requirepass",
      "masterauth",
      "masteruser",
      "primaryauth",
      "primaryuser",
      "acllog-max-len",
    ],
    instead: "users and passwords are set in the ValkeyClusterAcl that spec.acl names",
  },
  {
    keys: ["save", "dbfilename"],
    instead: "snapshots are set in spec.backup.database",
  },
  {
    keys: [
      "appendonly",
      "appendfsync",
      "appendfilename",
      "appenddirname",
      "auto-aof-rewrite-percentage",
      "auto-aof-rewrite-min-size",
    ],
    instead: "the append-only file is set in spec.backup.aof",
  },
  { keys: ["cluster-node-timeout"], instead: "use spec.cluster.nodeTimeout" },
  { keys: ["cluster-require-full-coverage"], instead: "use spec.cluster.requireFullCoverage" },
  { keys: ["cluster-allow-reads-when-down"], instead: "use spec.cluster.allowReadsWhenDown" },
  { keys: ["cluster-migration-barrier"], instead: "use spec.cluster.migrationBarrier" },
  { keys: ["replica-read-only", "slave-read-only"], instead: "use spec.cluster.replicaReadOnly" },
  { keys: ["repl-diskless-sync"], instead: "use spec.replication.disklessSync" },
  { keys: ["min-replicas-to-write", "min-slaves-to-write"], instead: "use spec.replication.minReplicasToWrite" },
  { keys: ["min-replicas-max-lag", "min-slaves-max-lag"], instead: "use spec.replication.minReplicasMaxLag" },
  {
    keys: [
      "cluster-enabled",
      "cluster-config-file",
      "cluster-port",
      "cluster-announce-*",
      "replica-announce-*",
      "slave-announce-*",
      "replicaof",
      "slaveof",
      "cluster-replica-no-failover",
      "cluster-slave-no-failover",
      "cluster-replica-validity-factor",
      "cluster-slave-validity-factor",
      "cluster-allow-replica-migration",
      "cluster-preferred-endpoint-type",
      "availability-zone",
      "shutdown-on-sigterm",
      "shutdown-on-sigint",
    ],
    instead:
      "the operator forms the cluster and moves its roles: shape it with spec.masterCount, spec.replicasPerMaster and spec.cluster",
  },
  {
    keys: [
      "bind",
      "bind-source-addr",
      "protected-mode",
      "unixsocket",
      "unixsocketperm",
      "unixsocketgroup",
      "dir",
      "include",
      "daemonize",
      "supervised",
      "pidfile",
      "logfile",
      "syslog-*",
      "rename-command",
      "enable-protected-configs",
    ],
    instead: "the operator needs it to run the server in its pod; it has no field and cannot be changed",
  },
];

/** The entry that reserves a key of valkey.conf, whose case does not matter. */
export function reservedFor(key: string): Reserved | undefined {
  const lower = key.toLowerCase();
  return RESERVED_CONFIG.find(({ keys }) => keys.some((pattern) => matches(pattern, lower)));
}

function matches(pattern: string, key: string): boolean {
  return pattern.endsWith("*") ? key.startsWith(pattern.slice(0, -1)) : key === pattern;
}

/** One CEL rule per entry, for a map of keys of valkey.conf. */
export function reservedRules(): Rule[] {
  return RESERVED_CONFIG.map(({ keys, instead }) => {
    const exact = keys.filter((key) => !key.endsWith("*"));
    const prefixes = keys.filter((key) => key.endsWith("*")).map((key) => key.slice(0, -1));
    const tests = [
      ...(exact.length > 0 ? [`key in [${exact.map(celString).join(", ")}]`] : []),
      ...prefixes.map((prefix) => `key.startsWith(${celString(prefix)})`),
    ];
    return {
      rule: `!self.exists(key, ${tests.join(" || ")})`,
      message: `must not set ${keys.join(", ")}: ${instead}`,
    };
  });
}
