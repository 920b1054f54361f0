/** Six bare servers in pods, made a cluster by hand: what everything else is compared with. */
import { type LooseObject, PODS } from "../../pkg/kube/resource.ts";
import { apply, kubectl } from "../e2e/cluster.ts";
import { type ClusterPod, podsLabelled, SMALL } from "../e2e/clusters.ts";
import { client } from "../e2e/operator.ts";
import { until } from "../lib/until.ts";

export const BARE = "bare";
const COUNT = 6;
const PATIENCE = { timeoutMs: 180_000, everyMs: 50 };

export async function bareCluster(namespace: string): Promise<void> {
  await apply(servers(namespace));
  const pods = await bareReady(namespace);
  const addresses = pods.map(({ status }) => `${status.podIP}:6379`);
  const create = ["--cluster", "create", ...addresses, "--cluster-replicas", "1", "--cluster-yes"];
  await inPod(namespace, `${BARE}-0`, ...create);
  await until("the bare cluster is ok", async () => (await tables(namespace)).every(isFormed), PATIENCE);
}

/** Until all of them are ready. */
export async function bareReady(namespace: string): Promise<readonly ClusterPod[]> {
  return until(
    "six bare pods are ready",
    async () => {
      const pods = await podsLabelled(namespace, `app=${BARE}`);
      const ready = pods.filter(({ metadata, status }) => {
        const is = status.conditions.some((one) => one.type === "Ready" && one.status === "True");
        return is && metadata.deletionTimestamp === undefined;
      });
      return ready.length === COUNT && ready;
    },
    PATIENCE,
  );
}

export async function inPod(namespace: string, pod: string, ...words: readonly string[]): Promise<string> {
  return kubectl(["exec", "-n", namespace, pod, "--", "valkey-cli", ...words]);
}

/** One after the other: gone, and its successor ready. */
export async function restartInTurn(namespace: string): Promise<void> {
  for (let index = 0; index < COUNT; index += 1) {
    await client.delete(PODS, { namespace, name: `${BARE}-${index}` });
    await until("the pod is away", async () => (await readyCount(namespace)) < COUNT, PATIENCE);
    await bareReady(namespace);
  }
}

async function readyCount(namespace: string): Promise<number> {
  const pods = await podsLabelled(namespace, `app=${BARE}`);
  return pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined).length;
}

async function tables(namespace: string): Promise<readonly string[]> {
  const names = Array.from({ length: COUNT }, (_, index) => `${BARE}-${index}`);
  return Promise.all(names.map(async (name) => inPod(namespace, name, "cluster", "nodes")));
}

function isFormed(table: string): boolean {
  const lines = table.trim().split("\n");
  return (
    lines.length === COUNT &&
    lines.filter((line) => /slave/.test(line)).length === COUNT / 2 &&
    !/fail|handshake/.test(table)
  );
}

/** Replica of the primary that leads a shard of the bare cluster, as a pod's name. */
export async function bareReplica(namespace: string, shard: number): Promise<string> {
  const table = await inPod(namespace, `${BARE}-0`, "cluster", "nodes");
  const replicas = table.split("\n").filter((line) => line.includes("slave"));
  const ip = replicas[shard % replicas.length]?.split(" ")[1]?.split(":")[0];
  const pods = await podsLabelled(namespace, `app=${BARE}`);
  const found = pods.find(({ status }) => status.podIP === ip);
  if (found === undefined) throw new Error(`no pod has the address ${ip} of a replica`);
  return found.metadata.name;
}

function servers(namespace: string): LooseObject {
  const labels = { app: BARE };
  const server = {
    name: "valkey",
    image: "docker.io/valkey/valkey:9.1",
    command: ["valkey-server", "--cluster-enabled", "yes", "--dir", "/data", "--bind", "*", "--protected-mode", "no"],
    resources: SMALL.resources,
    readinessProbe: { exec: { command: ["valkey-cli", "ping"] }, periodSeconds: 1, failureThreshold: 3 },
    volumeMounts: [{ name: "data", mountPath: "/data" }],
    securityContext: { runAsUser: 1000, runAsNonRoot: true, readOnlyRootFilesystem: true },
  };
  return {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { namespace, name: BARE },
    spec: {
      replicas: COUNT,
      podManagementPolicy: "Parallel",
      serviceName: BARE,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { containers: [server], volumes: [{ name: "data", emptyDir: {} }], terminationGracePeriodSeconds: 30 },
      },
    },
  };
}
