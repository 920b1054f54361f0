/** Every file that a server reads when it starts, written anew each time: what runs is what was wanted last. */
import { randomBytes } from "node:crypto";
import { chmodSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Login } from "../valkey/connection.ts";
import { asReplicaOf, parseNodesConf, withShardsOfPrimaries } from "../valkey/nodes-conf.ts";
import type { AgentOptions } from "./agent-options.ts";
import type { AgentPaths } from "./agent-paths.ts";
import { readIfThere, writeWhole } from "./files.ts";
import { makeFifo } from "./gate/fifo.ts";
import { effectiveConfiguration } from "./render/effective.ts";
import { renderNodeConf, renderServerConf, tlsFiles } from "./render/node-conf.ts";
import { aclFileContent } from "./server/acl-keeper.ts";
import type { Wanted } from "./server-control.ts";
import { withoutRule } from "./write-rule.ts";

export const AGENT_USER = "valkey-agent";
const PASSWORD_BYTES = 32;

export type AgentLogin = Login & { readonly username: string };

/** Who the agent is at its server. The password is made once per pod, and never leaves its tmpfs. */
export function agentLogin({ agentPassword }: Pick<AgentPaths, "agentPassword">): AgentLogin {
  const known = readIfThere(agentPassword);
  if (known !== undefined && known !== "") return { username: AGENT_USER, password: known };
  const password = randomBytes(PASSWORD_BYTES).toString("hex");
  writeWhole(agentPassword, password);
  return { username: AGENT_USER, password };
}

/** The gate and the way to it: before the server can start, and again after one that may have rewritten its file. */
export function writeServerConf(paths: AgentPaths): void {
  const text = renderServerConf(paths);
  if (readIfThere(paths.serverConf) !== text) writeWhole(paths.serverConf, text);
  makeFifo(paths.gate);
  makeSocketFolder(dirname(paths.serverSocket));
}

/** The exporter is of the same group and another user: it may go through. kubelet may have made the folder for it. */
function makeSocketFolder(folder: string): void {
  if (mkdirSync(folder, { recursive: true }) !== undefined) chmodSync(folder, 0o750);
}

/** What is wanted of this node's server, by name and value. */
export function wantedOfNode({ configuration, secrets }: Wanted, options: AgentOptions): Wanted {
  return { configuration: withoutRule(effectiveConfiguration(configuration, options)), secrets };
}

/** Without them a server would read other files or have another place in its cluster. */
const ESSENTIAL = /^(?:append(?:only|filename|dirname)|dbfilename|databases|save|cluster-.*|replica-announce-.*)$/;

/** What a server is started with after it would not start with all of it: what is left out is applied, and named, later. */
export function essentialsOf({ configuration, secrets }: Wanted): Wanted {
  const settings = configuration.settings.filter(({ name }) => ESSENTIAL.test(name));
  return { configuration: { ...configuration, settings }, secrets };
}

export function writeNodeFiles(wanted: Wanted, options: AgentOptions, login: AgentLogin): void {
  const { paths, listen } = options;
  const { configuration, secrets } = wanted;
  writeWhole(paths.nodeConf, renderNodeConf({ configuration, secrets, paths, listen }));
  if (secrets.aclLines.length > 0) writeWhole(paths.aclFile, aclFileContent(secrets.aclLines, login));
  if (configuration.wire?.tls !== true) return;
  if (secrets.tlsCertificate.length === 0 || secrets.tlsKey.length === 0) {
    throw new Error("the server shall speak TLS, and there is no certificate for it yet");
  }
  const files = tlsFiles(paths, secrets);
  writeWhole(files.certificate, secrets.tlsCertificate);
  writeWhole(files.key, secrets.tlsKey);
  writeWhole(files.authorities, secrets.tlsAuthorities);
  if (files.dhParams !== undefined) writeWhole(files.dhParams, secrets.tlsDhParams);
}

/** A server that was the primary starts as a replica of the one that is. Says whether its table had to be changed. */
export function makeReplica({ data }: Pick<AgentPaths, "data">, primaryId: string): boolean {
  const path = join(data, "nodes.conf");
  const text = readIfThere(path) ?? "";
  if (text.trim() === "" || parseNodesConf(text).myself.role === "replica") return false;
  writeWhole(path, asReplicaOf(text, primaryId));
  return true;
}

/** A table that the server itself has written and would take for damaged. Says whether it had to be changed. */
export function mendTable({ data }: Pick<AgentPaths, "data">): boolean {
  const path = join(data, "nodes.conf");
  const text = readIfThere(path) ?? "";
  const mended = withShardsOfPrimaries(text);
  if (mended === text) return false;
  writeWhole(path, mended);
  return true;
}
