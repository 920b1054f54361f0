/** Every setting that is wanted of a running server, from the three places that want one. */
import type { Login, Setting, Wire } from "../../rpc/gen/valkey/agent/v1/configuration_pb.ts";
import { canonicalName } from "../../valkey/setting-names.ts";
import type { Wanted } from "../server-control.ts";

export interface WantedSetting {
  /** As it was written; an older server may know one of two names only. */
  readonly name: string;
  readonly value: string;
}

/** By canonical name; a later one wins, also under its other name. */
export function wantedSettings({ configuration, secrets }: Wanted): ReadonlyMap<string, WantedSetting> {
  const wanted = new Map<string, WantedSetting>();
  const all = [...configuration.settings, ...wireSettings(configuration.wire), ...loginSettings(secrets.replication)];
  for (const { name, value } of all) wanted.set(canonicalName(name), { name, value });
  return wanted;
}

type NameAndValue = Pick<Setting, "name" | "value">;

/** How TLS is spoken; the files are apart, because taking them is a step of its own. */
export function wireSettings(wire: Wire | undefined): readonly NameAndValue[] {
  if (wire?.tls !== true) return [];
  const names = wire.tlsCiphers.split(/[:, ]+/u).filter((name) => name !== "");
  return [
    ...(wire.tlsAuthClients === "" ? [] : [{ name: "tls-auth-clients", value: wire.tlsAuthClients }]),
    { name: "tls-protocols", value: wire.tlsProtocols },
    // TLS 1.3 has names of its own for what it takes, and the server a setting of its own for them.
    { name: "tls-ciphers", value: names.filter((name) => !name.startsWith("TLS_")).join(":") },
    { name: "tls-ciphersuites", value: names.filter((name) => name.startsWith("TLS_")).join(":") },
    { name: "tls-replication", value: wire.tlsReplication ? "yes" : "no" },
    { name: "tls-cluster", value: wire.tlsCluster ? "yes" : "no" },
  ];
}

/** By the old names, which every version takes. */
function loginSettings(login: Login | undefined): readonly NameAndValue[] {
  return [
    { name: "masteruser", value: login?.username ?? "" },
    { name: "masterauth", value: login?.password ?? "" },
  ];
}

const PLACED =
  /^(?:aclfile|always-show-logo|bind|bind-source-addr|cluster-announce-.*|cluster-config-file|cluster-databases|cluster-enabled|cluster-port|daemonize|databases|dir|enable-.*|hash-seed|import-mode|locale-collate|logfile|maxclients|min-replicas-.*|pidfile|port|protected-mode|rdma-.*|replica-announce-.*|replicaof|requirepass|set-proc-title|socket-mark-id|supervised|syslog-.*|tcp-backlog|tls-.*|unixsocket.*)$/u;

/** Of a setting that makes the server fit its machine and its pod there is no default to go back to. */
export function hasDefault(name: string): boolean {
  return !PLACED.test(canonicalName(name));
}
