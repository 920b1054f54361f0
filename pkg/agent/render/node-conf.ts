/**
 * The two files that a server is configured by.
 *
 * `valkey.conf` is what its container names, and holds nothing but the way to the gate. `node.conf` holds everything
 * else and is included by the text that passes the gate. So a server that is not let in has read no setting yet, and one
 * that dies of a setting dies after its agent let it in, where the agent sees it.
 */
import { join } from "node:path";
import { makesServerStandStill } from "../../api/valkey-config.ts";
import type { Configuration, SecretMaterial, Wire } from "../../rpc/gen/valkey/agent/v1/configuration_pb.ts";
import type { AgentPaths } from "../agent-paths.ts";
import { confLine } from "./quote.ts";

export type Line = readonly [name: string, value: string];

/** Nothing listens unless the gate's text says so: if the agent dies while it holds the gate, the server ends. */
export function renderServerConf({ gate }: Pick<AgentPaths, "gate">): string {
  return [
    "# Written by the agent at every start. A server waits at the gate until its agent has decided its role.",
    confLine("port", "0"),
    confLine("include", gate),
    "",
  ].join("\n");
}

export interface NodeConf {
  /** With the settings of this node: see effectiveConfiguration. */
  readonly configuration: Configuration;
  readonly secrets: SecretMaterial;
  readonly paths: AgentPaths;
  /** Defaults to all addresses. */
  readonly listen?: string | undefined;
}

export function renderNodeConf({ configuration, secrets, paths, listen }: NodeConf): string {
  const { settings, wire } = configuration;
  if (wire === undefined) throw new Error("the configuration does not say how the server listens (wire)");
  const lines: readonly Line[] = [
    // What is left out here is named when the running server is compared with what is wanted.
    ...settings.map(({ name, value }): Line => [name, value]).filter((line) => !makesServerStandStill(...line)),
    ...placeLines(paths, listen),
    ...portLines(wire),
    ...(wire.tls ? tlsLines(wire, tlsFiles(paths, secrets)) : []),
    ...loginLines(secrets, paths),
  ];
  const text = lines.map(([name, value]) => confLine(name, value));
  return ["# Written by the agent. Change the ValkeyCluster, not this file.", ...text, ""].join("\n");
}

function placeLines({ serverSocket, data }: AgentPaths, listen: string | undefined): readonly Line[] {
  return [
    ["bind", listen ?? "* -::*"],
    // Who may come in is settled by users and certificates; without them the deployment is open, and its status says so.
    ["protected-mode", "no"],
    ["unixsocket", serverSocket],
    // For the agent, and for the exporter by its group.
    ["unixsocketperm", "770"],
    ["dir", data],
    ["daemonize", "no"],
    ["supervised", "no"],
    ["logfile", ""],
    ["cluster-enabled", "yes"],
    ["cluster-config-file", "nodes.conf"],
  ];
}

function portLines({ port, busPort, tls, plainPort }: Wire): readonly Line[] {
  const ports: readonly Line[] = tls
    ? [
        ["port", String(plainPort)],
        ["tls-port", String(port)],
      ]
    : [["port", String(port)]];
  return [...ports, ["cluster-port", String(busPort)]];
}

/** Of the files that a server with TLS reads; a file that there is no content for is undefined. */
export interface TlsFiles {
  readonly certificate: string;
  readonly key: string;
  readonly authorities: string;
  readonly dhParams: string | undefined;
}

export function tlsFiles({ tlsDir }: Pick<AgentPaths, "tlsDir">, { tlsDhParams }: SecretMaterial): TlsFiles {
  return {
    certificate: join(tlsDir, "server.crt"),
    key: join(tlsDir, "server.key"),
    authorities: join(tlsDir, "ca.crt"),
    dhParams: tlsDhParams.length === 0 ? undefined : join(tlsDir, "dh.pem"),
  };
}

function tlsLines(wire: Wire, files: TlsFiles): readonly Line[] {
  const { suites, ciphers } = splitCiphers(wire.tlsCiphers);
  const optional: readonly Line[] = [
    ["tls-auth-clients", wire.tlsAuthClients],
    ["tls-protocols", wire.tlsProtocols],
    ["tls-ciphers", ciphers],
    ["tls-ciphersuites", suites],
    ["tls-dh-params-file", files.dhParams ?? ""],
  ];
  return [
    ["tls-cert-file", files.certificate],
    ["tls-key-file", files.key],
    ["tls-ca-cert-file", files.authorities],
    ["tls-replication", wire.tlsReplication ? "yes" : "no"],
    ["tls-cluster", wire.tlsCluster ? "yes" : "no"],
    ...optional.filter(([, value]) => value !== ""),
  ];
}

/** TLS 1.3 has its own names for what it takes, and the server a setting of its own for them. */
export function splitCiphers(names: string): { readonly suites: string; readonly ciphers: string } {
  const all = names.split(/[:, ]+/).filter((name) => name !== "");
  return {
    suites: all.filter((name) => name.startsWith("TLS_")).join(":"),
    ciphers: all.filter((name) => !name.startsWith("TLS_")).join(":"),
  };
}

function loginLines({ aclLines, replication }: SecretMaterial, { aclFile }: AgentPaths): readonly Line[] {
  if (aclLines.length === 0) return [];
  const login: readonly Line[] =
    replication === undefined || replication.password === ""
      ? []
      : [
          ["primaryuser", replication.username],
          ["primaryauth", replication.password],
        ];
  return [["aclfile", aclFile], ...login];
}
