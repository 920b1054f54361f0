/** Where an agent finds and leaves its files. */
import { join } from "node:path";

export interface AgentPaths {
  /** What the server is started with: nothing but the way to the gate. */
  readonly serverConf: string;
  /** Everything that the server is told, included by what passes the gate. */
  readonly nodeConf: string;
  readonly gate: string;
  /** In a folder of its own, which is all that the exporter sees of the others. */
  readonly serverSocket: string;
  readonly agentSocket: string;
  readonly aclFile: string;
  /** Of the agent's own user at the server; as long-lived as the pod, so that a restarted agent can still log in. */
  readonly agentPassword: string;
  readonly tlsDir: string;
  readonly fencing: string;
  /** Which process was let in, and how. */
  readonly admission: string;
  /** What was granted, promised and held, and who is where. */
  readonly lease: string;
  /** There when the server was told to end for good. */
  readonly stopped: string;
  /** Newest pushed copies: an agent that restarts does not fall back to an older mounted one. */
  readonly pushedConfiguration: string;
  readonly pushedSecrets: string;
  readonly pushedIdentity: string;
  readonly mountedConfiguration: string;
  readonly mountedSecrets: string;
  readonly mountedIdentity: string;
  readonly data: string;
}

export interface Folders {
  /** Defaults to /run/valkey. */
  readonly run: string;
  /** Defaults to /data. */
  readonly data: string;
  /** Defaults to /etc/valkey-agent. */
  readonly mounts: string;
}

export function agentPaths({ run, data, mounts }: Folders): AgentPaths {
  return {
    serverConf: join(run, "valkey.conf"),
    nodeConf: join(run, "node.conf"),
    gate: join(run, "gate"),
    serverSocket: join(run, "socket/valkey.sock"),
    agentSocket: join(run, "agent.sock"),
    aclFile: join(run, "users.acl"),
    agentPassword: join(run, "agent-password"),
    tlsDir: join(run, "tls"),
    fencing: join(run, "fencing"),
    admission: join(run, "admission.json"),
    lease: join(run, "lease.json"),
    stopped: join(run, "stopped"),
    pushedConfiguration: join(run, "pushed/configuration.json"),
    pushedSecrets: join(run, "pushed/secrets.json"),
    pushedIdentity: join(run, "pushed/identity.json"),
    mountedConfiguration: join(mounts, "config/configuration.json"),
    mountedSecrets: join(mounts, "secrets/secrets.json"),
    mountedIdentity: join(mounts, "identity"),
    data,
  };
}
