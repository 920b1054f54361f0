/** The kinds that a cluster owns: how they are applied and where they are seen. */
import type { KubeObject, Resource } from "../../kube/resource.ts";
import { NETWORK_POLICIES, PDBS } from "../../kube/resource.ts";
import type { DesiredObject } from "../../plan/objects/types.ts";
import { OWN_CONFIG_MAPS, OWN_SECRETS, OWN_SERVICES } from "../node/resources.ts";
import { VALKEY_NODES } from "../resources.ts";
import type { ClusterCaches } from "./caches.ts";

interface OwnedKind {
  readonly resource: Resource<KubeObject>;
  readonly live: (
    caches: ClusterCaches,
    key: { readonly namespace: string; readonly name: string },
  ) => KubeObject | undefined;
}

const KINDS: Readonly<Record<string, OwnedKind>> = {
  ConfigMap: { resource: OWN_CONFIG_MAPS, live: ({ configMaps }, ref) => configMaps.get(ref) },
  Secret: { resource: OWN_SECRETS, live: ({ contents }, ref) => contents.get(ref) },
  Service: { resource: OWN_SERVICES, live: ({ services }, ref) => services.get(ref) },
  PodDisruptionBudget: { resource: PDBS, live: ({ budgets }, ref) => budgets.get(ref) },
  NetworkPolicy: { resource: NETWORK_POLICIES, live: ({ policies }, ref) => policies.get(ref) },
  ValkeyNode: { resource: VALKEY_NODES, live: ({ nodes }, ref) => nodes.get(ref) },
};

export function resourceOf({ kind }: DesiredObject): Resource<KubeObject> {
  const known = KINDS[kind];
  if (known === undefined) throw new TypeError(`a cluster owns no ${kind}`);
  return known.resource;
}

export function liveObject(caches: ClusterCaches, { kind, metadata }: DesiredObject): KubeObject | undefined {
  return KINDS[kind]?.live(caches, metadata);
}
