/**
 * The certificates of every cluster: its bundles, an identity for each of its nodes, what its servers show to clients,
 * and the binding that tells of all, renewed and verified while everything runs.
 */
import type { ValkeyCluster } from "../../api/cluster.ts";
import type { ValkeyClusterDefaults } from "../../api/cluster-defaults.ts";
import type { Cache } from "../../kube/cache.ts";
import { type ActContext, type Controller, type Source, type Told, watches } from "../../kube/controller.ts";
import { keyOf } from "../../kube/resource.ts";
import { readyCondition } from "../../plan/certificates/condition.ts";
import { type DeploymentStep, type DeploymentView, planDeployment } from "../../plan/certificates/deployment.ts";
import { bindingName, CR_LABEL } from "../../plan/objects/names.ts";
import { VALKEY_BINDINGS } from "../resources.ts";
import type { CertificateSecret } from "./certificate-secret.ts";
import { actOnDeployment, type DeploymentDeps } from "./deployment-actions.ts";
import { parentKeyOf } from "./deployment-objects.ts";
import { viewDeployment } from "./deployment-view.ts";

export interface CertificatesDeps extends DeploymentDeps {
  readonly clusters: Cache<ValkeyCluster>;
  readonly defaults: Cache<ValkeyClusterDefaults>;
  /** Wakes with the keys of clusters whose ValkeyClusterTls changed. */
  readonly tlsChanged: Source;
}

export function certificatesController(
  deps: CertificatesDeps,
): Controller<ValkeyCluster, DeploymentView, DeploymentStep> {
  const all = () => deps.clusters.list().map(keyOf);
  return {
    name: "certificates",
    workers: 8,
    sources: [
      watches(deps.clusters, (cluster) => [keyOf(cluster)], { priority: "high" }),
      watches(deps.nodes, (node) => [parentKeyOf(node)].filter((key) => key !== undefined), { priority: "high" }),
      watches(deps.bundles, ofCluster, { priority: "high" }),
      watches(deps.bindings, ofCluster),
      watches(deps.secrets, ofCluster, { priority: "high" }),
      watches(deps.defaults, all),
      deps.tlsChanged,
      {
        subscribe: (wake) =>
          deps.roots.source.subscribe(() => {
            for (const key of all()) wake(key, "normal");
          }),
      },
    ],
    observe: (key) => {
      const cluster = deps.clusters.byKey(key);
      if (cluster === undefined || cluster.metadata.deletionTimestamp !== undefined) return undefined;
      // Who took everything into his own hands has its certificates as well.
      if (deps.specs.of(cluster).unbound) return undefined;
      return { wanted: cluster, view: viewDeployment(deps, cluster) };
    },
    plan: (_cluster, view, now) => planDeployment(view, now),
    act: async (step, context) => {
      const cluster = deps.clusters.byKey(context.key);
      if (cluster !== undefined) await actOnDeployment(deps, cluster, step, context);
    },
    report: (told, context) => report(deps, told, context),
  };
}

function ofCluster({ metadata }: { readonly metadata: CertificateSecret["metadata"] }): string[] {
  const name = metadata.labels?.[CR_LABEL];
  return name === undefined ? [] : [`${metadata.namespace ?? ""}/${name}`];
}

/** The binding tells whether every process uses what it should. */
async function report(
  deps: CertificatesDeps,
  { wanted: cluster, view, failures }: Told<ValkeyCluster, DeploymentView, DeploymentStep>,
  context: ActContext,
): Promise<void> {
  const { name, namespace } = cluster.metadata;
  const binding = deps.bindings.get({ namespace, name: bindingName(name) });
  if (binding === undefined) return;
  const now = new Date();
  const { settled, holds } = planDeployment(view, now);
  const failure = failures[0]?.error;
  const why = failure instanceof Error ? failure.message : holds[0]?.reason;
  const ready = settled && why === undefined;
  const condition = readyCondition(binding.status?.conditions, now, {
    ready,
    reason: ready ? "InUse" : "Changing",
    message:
      why ?? (ready ? "every process shows what its Secret holds" : "certificates are on their way to the processes"),
    generation: binding.metadata.generation,
  });
  const status = { observedGeneration: binding.metadata.generation, conditions: [condition] };
  await deps.applier.applyStatus(VALKEY_BINDINGS, binding, status, context);
}
