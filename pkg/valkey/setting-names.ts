/** Names of settings: which are two names for one thing, and which take any text. */

/** Old names that servers still take. `replica` and `primary` are what the parts are called now. */
const RENAMED: ReadonlyMap<string, string> = new Map([
  ["slaveof", "replicaof"],
  ["masterauth", "primaryauth"],
  ["masteruser", "primaryuser"],
  ["min-slaves-to-write", "min-replicas-to-write"],
  ["min-slaves-max-lag", "min-replicas-max-lag"],
  ["repl-ping-slave-period", "repl-ping-replica-period"],
  ["cluster-slave-validity-factor", "cluster-replica-validity-factor"],
  ["cluster-slave-no-failover", "cluster-replica-no-failover"],
  ["hash-max-ziplist-entries", "hash-max-listpack-entries"],
  ["hash-max-ziplist-value", "hash-max-listpack-value"],
  ["zset-max-ziplist-entries", "zset-max-listpack-entries"],
  ["zset-max-ziplist-value", "zset-max-listpack-value"],
  ["list-max-ziplist-size", "list-max-listpack-size"],
  ["lua-time-limit", "busy-reply-threshold"],
  ["slowlog-log-slower-than", "commandlog-execution-slower-than"],
  ["slowlog-max-len", "commandlog-slow-execution-max-len"],
]);

/** The one name of a setting that has two; to compare by, not to send: an older server may know the old one alone. */
export function canonicalName(name: string): string {
  const renamed = RENAMED.get(name);
  if (renamed !== undefined) return renamed;
  if (name.startsWith("slave-")) return `replica-${name.slice("slave-".length)}`;
  return name.replaceAll("_", "-");
}

/** CONFIG GET takes patterns, so a name with a star in it would be many. */
export function isSettingName(name: string): boolean {
  return /^[a-z][a-z0-9_-]{0,127}$/u.test(name);
}

const TEXTS =
  /^(?:aclfile|appenddirname|appendfilename|availability-zone|bind.*|cluster-announce-(?:client-ipv[46]|hostname|human-nodename|ip)|cluster-config-file|dbfilename|dir|hash-seed|ignore-warnings|locale-collate|logfile|.*cpulist|pidfile|primaryauth|primaryuser|proc-title-template|rdma-bind|replica-announce-ip|replicaof|requirepass|syslog-ident|tls-(?:ca-cert-dir|ciphers|ciphersuites|.*-file|.*-file-pass|protocols)|unixsocket|unixsocketgroup)$/u;

/** Of a setting that takes a text, every character counts; of all others only what it means. */
export function isTextSetting(name: string): boolean {
  return TEXTS.test(canonicalName(name));
}

const SECRETS: ReadonlySet<string> = new Set([
  "primaryauth",
  "requirepass",
  "tls-key-file-pass",
  "tls-client-key-file-pass",
  "hash-seed",
]);

export function isSecretSetting(name: string): boolean {
  return SECRETS.has(canonicalName(name));
}
