/**
 * kubectl valkey failover NAME [SHARD|POD]: says what will happen, asks, has it done by the operator, and tells for how long
 * writes waited. The request is an annotation that is written with the caller's own rights.
 */
import { FAILOVER_ANNOTATION, type FailoverRequest, failoverText as requestText } from "../pkg/api/failover-request.ts";
import { KubeClient } from "../pkg/kube/client.ts";
import { loadConnection } from "../pkg/kube/kube-config.ts";
import { isKubeError } from "../pkg/kube/kube-error.ts";
import { KubeTransport } from "../pkg/kube/transport.ts";
import { VERSION } from "../pkg/version/version.ts";
import { confirmed } from "./ask.ts";
import { CLUSTERS, type ClusterStatus } from "./cluster-objects.ts";
import type { ConnectionOptions } from "./connection.ts";
import { chooseFailover } from "./failover-choice.ts";
import { failoverText } from "./failover-text.ts";
import { follow } from "./live.ts";
import { pictureOf } from "./picture.ts";
import { type ClusterName, explained, readCluster, Unreadable } from "./read-cluster.ts";

export interface FailoverOptions extends ConnectionOptions {
  readonly namespace?: string;
  readonly to?: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly output: "text" | "json";
}

/** An operator that runs takes a request up within a second, and a handover that takes longer has been given up. */
const PATIENCE_MS = 90_000;

export async function failOver(name: string, target: string | undefined, options: FailoverOptions): Promise<void> {
  const { kubeconfig, context } = options;
  const connection = loadConnection({ kubeconfig, context, userAgent: `kubectl-valkey/${VERSION.version}` });
  const client = new KubeClient(new KubeTransport(connection));
  const ref = { namespace: options.namespace ?? connection.namespace, name };
  try {
    const choice = chooseFailover(pictureOf(await readCluster(client, ref)), { target, to: options.to });
    say(options, failoverText(choice));
    const request = newRequest(choice.shard.index, choice.to?.name);
    // The server says what it will not take, the lack of a right included, before anybody is asked.
    await write(client, ref, request, true);
    if (options.dryRun === true) return say(options, ["", "Nothing was done (--dry-run)."]);
    if (options.yes !== true && !(await confirmed("Go on?"))) return say(options, ["Nothing was done."]);
    await write(client, ref, request, false);
    tell(options, await outcome(client, ref, request));
  } finally {
    client.close();
  }
}

function newRequest(shard: number, to: string | undefined): FailoverRequest {
  return { id: crypto.randomUUID(), shard, ...(to === undefined ? {} : { to }), at: new Date().toISOString() };
}

async function write(client: KubeClient, ref: ClusterName, request: FailoverRequest, dryRun: boolean): Promise<void> {
  const body = { metadata: { annotations: { [FAILOVER_ANNOTATION]: requestText(request) } } };
  try {
    await client.patch(CLUSTERS, ref, { type: "merge", body }, { dryRun, fieldManager: "kubectl-valkey" });
  } catch (error) {
    if (!isKubeError(error, "forbidden")) throw await explained(client, ref, error);
    const needs = "this command needs the verbs get, patch and failover on valkeyclusters of API group valkey.io";
    throw new Unreadable(`${error.serverMessage}. In namespace ${ref.namespace} ${needs}`);
  }
}

type Failover = NonNullable<ClusterStatus["failover"]>;

async function outcome(client: KubeClient, ref: ClusterName, { id }: FailoverRequest): Promise<Failover> {
  let last: Failover | undefined;
  const signal = AbortSignal.timeout(PATIENCE_MS);
  await follow(client, ref, { signal }, ({ read }) => {
    const failover = read?.cluster.status?.failover;
    if (failover?.id === id) last = failover;
    return read !== undefined && last?.phase !== "Done" && last?.phase !== "Failed";
  });
  if (last?.phase === "Done") return last;
  if (last?.phase === "Failed") throw new Error(last.message);
  const where =
    last === undefined ? "the operator has not taken it up. Is it running? kubectl valkey version" : last.message;
  throw new Error(`it is not known what came of it: ${where}`);
}

function say({ output }: FailoverOptions, lines: readonly string[]): void {
  // What a program reads is the outcome alone.
  const stream = output === "json" ? process.stderr : process.stdout;
  stream.write(`${lines.join("\n")}\n`);
}

function tell({ output }: FailoverOptions, failover: Failover): void {
  if (output === "json") process.stdout.write(`${JSON.stringify(failover)}\n`);
  else {
    const waited = failover.writesWaitedMs === undefined ? "" : ` Writes waited ${failover.writesWaitedMs} ms.`;
    process.stdout.write(`${failover.to ?? "Another node"} leads shard ${failover.shard} now.${waited}\n`);
    if (failover.writesWaitedMs === undefined) process.stdout.write(`${failover.message}\n`);
  }
}
