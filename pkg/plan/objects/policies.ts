/** What guards the pods of a cluster: budgets for drains, and who may reach which port. */
import type { ResolvedClusterSpec } from "../../api/resolve.ts";
import { shardsOf } from "./members.ts";
import { metaOf, type Owner, objectOf } from "./meta.ts";
import { budgetName, clusterSelector, PORTS, shardSelector } from "./names.ts";
import { clientPorts } from "./services.ts";
import type { DesiredObject, OperatorFacts } from "./types.ts";
import type { WirePorts } from "./wire.ts";

/** One pod of a shard at a time: see docs/decisions/0009-drains-one-pod-of-a-shard.md. */
export function budgetsOf(owner: Owner, spec: ResolvedClusterSpec): DesiredObject[] {
  return shardsOf(spec).map((shard) =>
    objectOf(
      { apiVersion: "policy/v1", kind: "PodDisruptionBudget" },
      metaOf(owner, { name: budgetName(owner.cluster.name, shard) }),
      {
        spec: {
          maxUnavailable: 1,
          unhealthyPodEvictionPolicy: "IfHealthyBudget",
          selector: { matchLabels: shardSelector(owner.cluster.name, shard) },
        },
      },
    ),
  );
}

export interface PolicyInput {
  readonly owner: Owner;
  readonly spec: ResolvedClusterSpec;
  readonly wire: WirePorts;
  readonly operator: OperatorFacts;
}

/** kubelet's probes come from the pod's own Node, which no policy keeps out. */
export function networkPoliciesOf({ owner, spec, wire, operator }: PolicyInput): DesiredObject[] {
  if (!spec.networkPolicy.enabled) return [];
  const { name } = owner.cluster;
  const own = { podSelector: { matchLabels: clusterSelector(name) } };
  const operators = {
    namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": operator.namespace } },
    podSelector: { matchLabels: { "app.kubernetes.io/name": "valkey-operator" } },
  };
  const open = [...clientPorts(wire).map(({ port }) => port), ...(spec.exporter.enabled ? [spec.exporter.port] : [])];
  return [
    objectOf({ apiVersion: "networking.k8s.io/v1", kind: "NetworkPolicy" }, metaOf(owner, { name }), {
      spec: {
        podSelector: own.podSelector,
        policyTypes: ["Ingress"],
        ingress: [
          { ports: tcp(open) },
          { from: [own], ports: tcp([wire.busPort, PORTS.agent]) },
          { from: [operators], ports: tcp([PORTS.agent]) },
        ],
      },
    }),
  ];
}

function tcp(ports: readonly number[]) {
  return ports.map((port) => ({ port, protocol: "TCP" }));
}
