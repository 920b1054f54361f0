/**
 * From `kubectl apply` to Ready: a ValkeyCluster of three shards with a replica each, against a bare StatefulSet of six
 * pods with the same server image, started in parallel. Both take turns on one lab.
 */
import * as v from "valibot";
import type { KubeClient } from "../../pkg/kube/client.ts";
import { type LooseObject, ObjectMetaSchema, PODS, PVCS, STATEFUL_SETS, typed } from "../../pkg/kube/resource.ts";
import { apply } from "../e2e/cluster.ts";
import { type ClusterRef, clusterObject, clusterReady, SMALL, VALKEY_CLUSTERS } from "../e2e/clusters.ts";
import { installOperator } from "../e2e/install.ts";
import { clientOf, withNamespace } from "../lib/kube.ts";
import { until } from "../lib/until.ts";
import { type Measured, median, type Progress, rounded } from "./bench.ts";

/** Ten creations in a row: one that hangs now and then would show. */
const ROUNDS = Number(process.env["BENCH_ROUNDS"] ?? 10);
const PODS_OF_EACH = 6;
const PATIENCE = { timeoutMs: 180_000, everyMs: 50 };

/** Where KUBECONFIG says; the operator is installed by it. */
export async function measureApplyReady(progress: Progress): Promise<Measured> {
  progress("installing the operator");
  await installOperator();
  const client = clientOf();
  try {
    const runs = await withNamespace(client, (namespace) => rounds(client, namespace, progress));
    const value = rounded(median(runs.map(({ cluster }) => cluster)), 2);
    const errors = ROUNDS - runs.length;
    return { value, unit: "s", limit: rounded(median(runs.map(({ bare }) => bare)), 2), errors, runs };
  } finally {
    client.close();
  }
}

interface Round extends Readonly<Record<string, number>> {
  readonly cluster: number;
  readonly bare: number;
}

/** Of those that became ready. */
async function rounds(client: KubeClient, namespace: string, progress: Progress): Promise<Round[]> {
  const runs: Round[] = [];
  for (let round = 1; round <= ROUNDS; round += 1) {
    const bare = await timed(() => bareReady(client, namespace));
    await removed(client, namespace, () => client.delete(STATEFUL_SETS, { namespace, name: "bare" }));
    const ref = { namespace, name: `round-${round}` };
    const cluster = await timed(() => readyFromApply(ref)).catch((error: unknown) => String(error));
    await removed(client, namespace, () => client.delete(VALKEY_CLUSTERS, ref));
    if (typeof cluster === "string") {
      progress(`round ${round} of ${ROUNDS}: THE CLUSTER HANGS: ${cluster}`);
      continue;
    }
    runs.push({ cluster, bare });
    progress(`round ${round} of ${ROUNDS}: the cluster ${cluster} s, bare pods ${bare} s`);
  }
  return runs;
}

async function timed(work: () => Promise<void>): Promise<number> {
  const begun = performance.now();
  await work();
  return rounded((performance.now() - begun) / 1000, 2);
}

async function readyFromApply(ref: ClusterRef): Promise<void> {
  await apply(clusterObject(ref));
  await clusterReady(ref, PATIENCE);
}

const BareSchema = v.object({
  metadata: ObjectMetaSchema,
  status: v.optional(v.object({ readyReplicas: v.optional(v.number(), 0) }), {}),
});
const BARE = typed(STATEFUL_SETS, (value) => v.parse(BareSchema, value));

async function bareReady(client: KubeClient, namespace: string): Promise<void> {
  await apply(bareServers(namespace));
  await until(
    "six bare pods are ready",
    async () => (await client.get(BARE, { namespace, name: "bare" })).status.readyReplicas === PODS_OF_EACH,
    PATIENCE,
  );
}

/** The next one begins when nothing of the last one runs any more. */
async function removed(client: KubeClient, namespace: string, remove: () => Promise<unknown>): Promise<void> {
  await remove();
  await until("no pod is left", async () => (await client.list(PODS, { namespace })).items.length === 0, PATIENCE);
  const { items } = await client.list(PVCS, { namespace });
  for (const { metadata } of items) await client.delete(PVCS, { namespace, name: metadata.name });
}

function bareServers(namespace: string): LooseObject {
  const labels = { app: "bare" };
  const server = {
    name: "valkey",
    image: "docker.io/valkey/valkey:9.1",
    command: ["valkey-server", "--cluster-enabled", "yes", "--dir", "/data", "--bind", "*", "--protected-mode", "no"],
    resources: SMALL.resources,
    readinessProbe: { exec: { command: ["valkey-cli", "ping"] }, periodSeconds: 1 },
    volumeMounts: [{ name: "data", mountPath: "/data" }],
    securityContext: { runAsUser: 1000, runAsNonRoot: true, readOnlyRootFilesystem: true },
  };
  return {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { namespace, name: "bare" },
    spec: {
      replicas: PODS_OF_EACH,
      podManagementPolicy: "Parallel",
      serviceName: "bare",
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { containers: [server], volumes: [{ name: "data", emptyDir: {} }], terminationGracePeriodSeconds: 5 },
      },
    },
  };
}
