/** What an agent is told by its pod: who its node is, where its files are, on which ports it serves. */
import * as v from "valibot";
import { type AgentPaths, agentPaths } from "./agent-paths.ts";

export interface AgentOptions {
  /** Name of the ValkeyNode. */
  readonly node: string;
  readonly pod: string;
  readonly namespace: string;
  readonly podIp: string;
  /** `valkeycluster` */
  readonly parentKind: string;
  readonly parentName: string;
  readonly trustDomain: string;
  readonly operatorUrl: string;
  readonly operatorNamespace: string;
  /** Bytes that the server's container may use; 0n for no limit. */
  readonly memoryLimit: bigint;
  /** Of the server, as its image's tag tells it: `9.1`; undefined when it does not. */
  readonly valkeyVersion: string | undefined;
  readonly paths: AgentPaths;
  /** The address that agent and server listen on; without it, all of the pod's. */
  readonly listen?: string | undefined;
  /** Of this agent and of its peers. */
  readonly rpcPort: number;
  readonly probePort: number;
}

/** Flags that stand beside the environment. */
export interface AgentFlags {
  readonly runDir: string;
  readonly dataDir: string;
  readonly mountDir: string;
  readonly listen?: string | undefined;
  readonly rpcPort: number;
  readonly probePort: number;
}

export const RPC_PORT = 8444;
export const PROBE_PORT = 8445;

const text = v.pipe(v.string(), v.nonEmpty("is empty"));
const ENVIRONMENT = v.object({
  NODE_NAME: text,
  POD_NAME: text,
  POD_NAMESPACE: text,
  POD_IP: v.pipe(v.string(), v.ip("must be an IP address")),
  PARENT_KIND: text,
  PARENT_NAME: text,
  TRUST_DOMAIN: text,
  OPERATOR_URL: v.pipe(v.string(), v.startsWith("https://", "must begin with https://"), v.url("must be a URL")),
  OPERATOR_NAMESPACE: text,
  MEMORY_LIMIT: v.optional(v.pipe(v.string(), v.regex(/^\d{1,18}$/, "must be a number of bytes")), "0"),
  VALKEY_VERSION: v.optional(v.string()),
});

/** Throws with every variable that is missing or wrong: the operator writes them, so a person should never see it. */
export function readOptions(env: Readonly<Record<string, string | undefined>>, flags: AgentFlags): AgentOptions {
  const parsed = v.safeParse(ENVIRONMENT, env);
  if (!parsed.success) {
    const wrong = parsed.issues.map((issue) => `${v.getDotPath(issue) ?? "?"} ${issue.message}`);
    throw new Error(`the environment of the agent is not what its operator sets: ${wrong.join("; ")}`);
  }
  const { output } = parsed;
  return {
    node: output.NODE_NAME,
    pod: output.POD_NAME,
    namespace: output.POD_NAMESPACE,
    podIp: output.POD_IP,
    parentKind: output.PARENT_KIND,
    parentName: output.PARENT_NAME,
    trustDomain: output.TRUST_DOMAIN,
    operatorUrl: output.OPERATOR_URL,
    operatorNamespace: output.OPERATOR_NAMESPACE,
    memoryLimit: BigInt(output.MEMORY_LIMIT),
    valkeyVersion: output.VALKEY_VERSION,
    paths: agentPaths({ run: flags.runDir, data: flags.dataDir, mounts: flags.mountDir }),
    listen: flags.listen,
    rpcPort: flags.rpcPort,
    probePort: flags.probePort,
  };
}
