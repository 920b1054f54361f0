/** Everything about clusters and their agents, put together. */
import type { ValkeyCluster } from "../../pkg/api/cluster.ts";
import type { ValkeyClusterDefaults } from "../../pkg/api/cluster-defaults.ts";
import type { ValkeyClusterTls } from "../../pkg/api/cluster-tls.ts";
import type { AgentHub, AgentTarget } from "../../pkg/controllers/agents/agent-hub.ts";
import type { ServerCertificates } from "../../pkg/controllers/certificates/server-certificates.ts";
import { targetOf } from "../../pkg/controllers/cluster/agent-now.ts";
import type { ClusterCaches } from "../../pkg/controllers/cluster/caches.ts";
import { clusterController } from "../../pkg/controllers/cluster/cluster-controller.ts";
import { podNow } from "../../pkg/controllers/cluster/observe.ts";
import { OWN_SECRETS } from "../../pkg/controllers/node/resources.ts";
import { VALKEY_ACLS } from "../../pkg/controllers/resources.ts";
import type { Applier } from "../../pkg/kube/apply.ts";
import type { Cache } from "../../pkg/kube/cache.ts";
import type { KubeClient } from "../../pkg/kube/client.ts";
import type { EventRecorder } from "../../pkg/kube/events.ts";
import { NETWORK_POLICIES, PDBS } from "../../pkg/kube/resource.ts";
import { CR_LABEL, MANAGED_SELECTOR, operatorUrl, TRUST_DOMAIN } from "../../pkg/plan/objects/names.ts";
import type { OperatorFacts } from "../../pkg/plan/objects/types.ts";
import { VERSION } from "../../pkg/version/version.ts";
import type { Caches } from "./caches.ts";
import type { OperatorFlags } from "./flags.ts";
import type { SharedCaches } from "./node-caches.ts";
import type { TroubleCaches } from "./trouble-caches.ts";

export interface ClusterParts {
  readonly flags: OperatorFlags;
  readonly client: KubeClient;
  readonly caches: Caches;
  readonly applier: Applier;
  readonly recorder: EventRecorder;
  readonly hub: AgentHub;
  readonly clusters: Cache<ValkeyCluster>;
  readonly defaults: Cache<ValkeyClusterDefaults>;
  readonly tls: Cache<ValkeyClusterTls>;
  readonly servers: ServerCertificates;
  readonly shared: SharedCaches;
  readonly troubles: TroubleCaches;
}

export function assembleClusters(parts: ClusterParts) {
  const { flags, client, applier, recorder, hub, servers } = parts;
  const caches = clusterCaches(parts);
  return clusterController({ client, applier, recorder, hub, servers, caches, operator: operatorFacts(flags) });
}

function clusterCaches({ caches, clusters, defaults, tls, shared, troubles }: ClusterParts): ClusterCaches {
  const ours = { labelSelector: `${MANAGED_SELECTOR},${CR_LABEL}` };
  return {
    ...shared,
    ...troubles,
    clusters,
    defaults,
    tls,
    acls: caches.add(VALKEY_ACLS),
    budgets: caches.add(PDBS, ours),
    policies: caches.add(NETWORK_POLICIES, ours),
    givenSecrets: caches.named(OWN_SECRETS, "Secrets of users"),
  };
}

function operatorFacts({ namespace, sidecarImage }: OperatorFlags): OperatorFacts {
  return { namespace, url: operatorUrl(namespace), trustDomain: TRUST_DOMAIN, sidecarImage, version: VERSION.version };
}

/** Where the agent of a node is; undefined when it cannot be asked. */
export function agentOf(shared: SharedCaches, namespace: string, node: string): AgentTarget | undefined {
  const cluster = shared.nodes.get({ namespace, name: node })?.spec.parent.name;
  if (cluster === undefined) return undefined;
  const pod = podNow(shared, shared.pods.byIndex("node", `${namespace}/${node}`));
  return targetOf({ namespace, cluster, node }, pod);
}
