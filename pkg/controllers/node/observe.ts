/** From the caches to what is decided on. */
import type { ValkeyNode } from "../../api/node.ts";
import type { Cache } from "../../kube/cache.ts";
import type { ObjectCache } from "../../kube/controller.ts";
import { type KubeObject, keyOf } from "../../kube/resource.ts";
import { mountsOf } from "../../plan/node/objects.ts";
import { type ClaimView, type Drift, type NodeView, podOf, type WorkloadView } from "../../plan/node/view.ts";
import { claimName } from "../../plan/objects/names.ts";
import { type AgentReports, reportView } from "./agent-reports.ts";
import type { Machine, NodeClaim, NodeDeployment, NodePodObject, NodeStatefulSet, OwnService } from "./resources.ts";
import type { RoleTimes } from "./role-times.ts";

/** All of them hold what the operator has made and no more; ConfigMaps and Secrets are only looked for. */
export interface NodeCaches {
  readonly nodes: Cache<ValkeyNode>;
  readonly statefulSets: Cache<NodeStatefulSet>;
  readonly deployments: Cache<NodeDeployment>;
  readonly services: Cache<OwnService>;
  readonly claims: Cache<NodeClaim>;
  readonly pods: Cache<NodePodObject, "node">;
  readonly configMaps: ObjectCache<KubeObject>;
  /** Those with certificates are kept apart. */
  readonly secrets: readonly ObjectCache<KubeObject>[];
  /** Undefined when the operator may not see Nodes. */
  readonly machines?: Cache<Machine> | undefined;
}

/** What is remembered of a node from one look to the next. */
export interface Remembered {
  readonly drift: Drift | undefined;
  readonly roles: RoleTimes;
}

export function viewNode(caches: NodeCaches, reports: AgentReports, node: ValkeyNode, before: Remembered): NodeView {
  const { namespace = "", name } = node.metadata;
  const key = keyOf(node);
  const pods = caches.pods.byIndex("node", key);
  const state = reports.stateOf(namespace, name);
  const report = state === undefined ? undefined : reportView(state);
  return {
    claim: viewClaim(caches.claims.get({ namespace, name: claimName(name) })),
    workload: viewWorkload(liveWorkload(caches, node)),
    missing: missingMounts(caches, node),
    pods,
    zone: zoneOf(caches, podOf({ pods })?.spec.nodeName),
    report,
    roleForMs: before.roles.note(key, report?.role ?? "none"),
    drift: before.drift,
  };
}

export function liveWorkload(caches: NodeCaches, node: ValkeyNode): NodeStatefulSet | NodeDeployment | undefined {
  const cache = node.spec.podManagementType === "deployment" ? caches.deployments : caches.statefulSets;
  return cache.byKey(keyOf(node));
}

function viewClaim(claim: NodeClaim | undefined): ClaimView | undefined {
  if (claim === undefined) return undefined;
  return {
    requested: claim.spec.resources.requests["storage"],
    capacity: claim.status.capacity["storage"],
    resizing: claim.status.conditions.some(({ type, status }) => RESIZING.has(type) && status === "True"),
    terminating: claim.metadata.deletionTimestamp !== undefined,
  };
}

const RESIZING: ReadonlySet<string> = new Set(["Resizing", "FileSystemResizePending"]);

function viewWorkload(live: NodeStatefulSet | NodeDeployment | undefined): WorkloadView | undefined {
  if (live === undefined) return undefined;
  const { selector, serviceName, podManagementPolicy } = live.spec;
  return {
    selector: selector.matchLabels,
    terminating: live.metadata.deletionTimestamp !== undefined,
    ...(typeof serviceName === "string" ? { serviceName } : {}),
    ...(typeof podManagementPolicy === "string" ? { podManagementPolicy } : {}),
  };
}

function missingMounts({ configMaps, secrets }: NodeCaches, node: ValkeyNode): string[] {
  const wanted = mountsOf(node);
  const { namespace = "" } = node.metadata;
  const absent = (caches: readonly ObjectCache<KubeObject>[], names: readonly string[]) =>
    names.filter((name) => caches.every((cache) => cache.byKey(`${namespace}/${name}`) === undefined));
  return [
    ...absent([configMaps], wanted.configMaps).map((name) => `ConfigMap ${name}`),
    ...absent(secrets, wanted.secrets).map((name) => `Secret ${name}`),
  ];
}

function zoneOf({ machines }: NodeCaches, machine: string | undefined): string | undefined {
  return machine === undefined ? undefined : machines?.byKey(machine)?.zone;
}
