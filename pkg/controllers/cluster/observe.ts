/** From the caches and the hub to what is decided on. */
import type { ValkeyCluster } from "../../api/cluster.ts";
import { DEFAULTS_NAME } from "../../api/cluster-defaults.ts";
import { BUILT_IN_DEFAULTS } from "../../api/defaults.ts";
import type { ValkeyNode } from "../../api/node.ts";
import { type ResolvedClusterSpec, resolveSpec } from "../../api/resolve.ts";
import type { Clock } from "../../clock/clock.ts";
import { keyOf } from "../../kube/resource.ts";
import { memberOf } from "../../plan/cluster/members.ts";
import type { ClusterView, DriftNow, NodeNow, PodNow } from "../../plan/cluster/view.ts";
import { effectiveSpec } from "../../plan/lifecycle/effective.ts";
import { FORM_ANNOTATION, formOf, runningForm, writeForm } from "../../plan/lifecycle/form.ts";
import { isSpare, membersOf } from "../../plan/objects/members.ts";
import {
  type ClusterRef,
  CONFIGURATION_KEY,
  claimName,
  configMapName,
  EXPORTER_PASSWORD_KEY,
  exporterSecretName,
  NODE_LABEL,
  nodeName,
  REVISION_ANNOTATION,
  SECRETS_KEY,
  secretsName,
} from "../../plan/objects/names.ts";
import type { Desired, DesiredObject, OperatorFacts, Previous } from "../../plan/objects/types.ts";
import type { AgentHub } from "../agents/agent-hub.ts";
import type { ServerCertificates } from "../certificates/server-certificates.ts";
import type { NodePodObject } from "../node/resources.ts";
import { agentNow } from "./agent-now.ts";
import type { ClusterCaches } from "./caches.ts";
import type { DesiredMemory } from "./desired-memory.ts";
import type { Failovers } from "./failovers.ts";
import { liveObject } from "./kinds.ts";
import type { LastPods } from "./last-pods.ts";
import { aclGiven, neededOf, referencesOf, tlsGiven } from "./references.ts";
import type { Strangers } from "./strangers.ts";
import { clusterFacts, type TroubleSources } from "./trouble-facts.ts";

export interface ObserveDeps {
  readonly caches: ClusterCaches;
  readonly hub: AgentHub;
  readonly servers: ServerCertificates;
  readonly operator: OperatorFacts;
  readonly memory: DesiredMemory;
  readonly strangers: Strangers;
  readonly lastPods: LastPods;
  readonly failovers: Failovers;
  readonly clock: Clock;
}

export function viewCluster(deps: ObserveDeps, cluster: ValkeyCluster, drift: DriftNow | undefined): ClusterView {
  const { caches, memory, strangers, clock, operator } = deps;
  const key = keyOf(cluster);
  const ref = { name: cluster.metadata.name, namespace: cluster.metadata.namespace ?? "" };
  const asked = resolved(deps, cluster);
  const stored = caches.nodes.byIndex("cluster", key);
  const configMap = caches.configMaps.get({ namespace: ref.namespace, name: configMapName(ref.name) });
  const recorded = configMap?.metadata.annotations?.[FORM_ANNOTATION];
  const lasting = stored.filter(({ spec }) => !isSpare(spec));
  const running = runningForm({ recorded, nodes: lasting.map(({ spec }) => spec) });
  const effective = effectiveSpec(asked, referencesOf(caches, ref.namespace, asked), running, fixedClass(caches, key));
  caches.givenSecrets.want(key, neededOf(ref, effective));
  const at = new Date(clock.wall());
  const tls = tlsGiven(deps, cluster, effective, at);
  const { spec } = effective;
  const desired = memory.of(
    key,
    {
      cluster: { ...ref, uid: cluster.metadata.uid ?? "" },
      spec,
      tls: tls.given,
      acl: aclGiven(caches, ref, spec, effective),
      previous: previousOf(deps, ref),
      spares: sparesOf(spec, stored),
      operator,
      now: at,
    },
    (made) => finished(made, ref.name, writeForm(formOf(spec, effective))),
  );
  const nodes = nodesNow(deps, cluster, spec, stored);
  const members = nodes.map((node) => memberOf(node, at));
  return {
    cluster,
    asked,
    running,
    effective,
    desired,
    nodes,
    drift,
    failoverOutcome: deps.failovers.of(key),
    isSettled: (object) => memory.isSettled(object, liveObject(caches, object)),
    claims: caches.claims.byIndex("cluster", key).map(({ metadata }) => ({
      name: metadata.name,
      node: metadata.labels?.[NODE_LABEL] ?? "",
      going: metadata.deletionTimestamp !== undefined,
    })),
    pods: caches.pods.byIndex("cluster", key).map(({ metadata }) => ({
      name: metadata.name,
      node: metadata.labels?.[NODE_LABEL] ?? "",
    })),
    strangersForMs: strangers.forMs(key, members, clock.monotonic()),
    facts: clusterFacts(troubleSources(deps, nodes), {
      nodes: stored,
      namespace: ref.namespace,
      given: desired.troubles,
    }),
    serverCertificate: tls.certificate,
  };
}

/** Shards that have a spare. One that goes is still there: agents know of it until it is gone. */
function sparesOf({ masterCount }: ResolvedClusterSpec, stored: readonly ValkeyNode[]): readonly number[] {
  const shards = stored.filter(({ spec }) => isSpare(spec)).map(({ spec }) => spec.shard);
  return shards.filter((shard) => shard < masterCount).toSorted((a, b) => a - b);
}

/** A StorageClass of the cluster's claims that does not let them grow; undefined when none is known. */
function fixedClass({ claims, storageClasses }: ClusterCaches, key: string): string | undefined {
  const classes = new Set(claims.byIndex("cluster", key).map(({ spec }) => spec.storageClassName ?? ""));
  return [...classes].find((name) => storageClasses?.byKey(name)?.growsVolumes === false);
}

export function resolved(
  { caches, operator }: Pick<ObserveDeps, "caches" | "operator">,
  cluster: ValkeyCluster,
): ResolvedClusterSpec {
  const layer = (namespace: string | undefined) => caches.defaults.get({ namespace, name: DEFAULTS_NAME })?.spec;
  return resolveSpec(BUILT_IN_DEFAULTS, layer(operator.namespace), layer(cluster.metadata.namespace), cluster.spec);
}

/**
 * What is gone is made again as it was, as long as this leader remembers: another password would have to reach every
 * server before the next replica logs in.
 */
function previousOf({ caches, memory }: ObserveDeps, { namespace, name }: ClusterRef): Previous {
  const secret = (of: string) => caches.contents.get({ namespace, name: of })?.data;
  const text = (base64: string | undefined) =>
    base64 === undefined ? undefined : Buffer.from(base64, "base64").toString("utf8");
  const before = memory.previous(`${namespace}/${name}`);
  const configMap = caches.configMaps.get({ namespace, name: configMapName(name) });
  return {
    configuration: configMap?.data[CONFIGURATION_KEY] ?? before.configuration,
    secrets: text(secret(secretsName(name))?.[SECRETS_KEY]) ?? before.secrets,
    exporterPassword: text(secret(exporterSecretName(name))?.[EXPORTER_PASSWORD_KEY]) ?? before.exporterPassword,
  };
}

/** Bundles are kept by the controller of certificates. The ConfigMap carries what the cluster was made with. */
function finished(made: Desired, cluster: string, form: string): Desired {
  const objects = made.objects
    .filter(({ kind }) => kind !== "ValkeyCertificateBundle")
    .map((object) => (isConfigMap(object, cluster) ? withForm(object, form) : object));
  return { ...made, objects };
}

function isConfigMap({ kind, metadata }: DesiredObject, cluster: string): boolean {
  return kind === "ConfigMap" && metadata.name === configMapName(cluster);
}

function withForm(object: DesiredObject, form: string): DesiredObject {
  const { metadata } = object;
  return { ...object, metadata: { ...metadata, annotations: { ...metadata.annotations, [FORM_ANNOTATION]: form } } };
}

/** Those that are wanted, then those that are there beside them. */
function nodesNow(
  deps: ObserveDeps,
  cluster: ValkeyCluster,
  spec: ResolvedClusterSpec,
  stored: readonly ValkeyNode[],
): readonly NodeNow[] {
  const wanted = membersOf(spec).map((place) => ({ ...place, name: nodeName(cluster.metadata.name, place) }));
  const names = new Set(wanted.map(({ name }) => name));
  const others = stored
    .filter(({ metadata }) => !names.has(metadata.name))
    .map(({ metadata, spec: { shard, member } }) => ({ name: metadata.name, shard, member }));
  return [...wanted, ...others].map((place) => nodeNow(deps, cluster, place));
}

function nodeNow(
  { caches, hub, lastPods }: ObserveDeps,
  cluster: ValkeyCluster,
  place: Pick<NodeNow, "name" | "shard" | "member">,
): NodeNow {
  const { namespace = "" } = cluster.metadata;
  const { name } = place;
  const pods = caches.pods.byIndex("node", `${namespace}/${name}`);
  const pod = podNow(caches, pods);
  return {
    ...place,
    node: caches.nodes.get({ namespace, name }),
    pod,
    ran: lastPods.of(keyOf(cluster), name, pods, caches.machines),
    claim: caches.claims.get({ namespace, name: claimName(name) }),
    agent: agentNow(hub, { namespace, cluster: cluster.metadata.name, node: name }, pod),
  };
}

/** One that stays counts before one that goes. */
export function podNow(caches: Pick<ClusterCaches, "machines">, pods: readonly NodePodObject[]): PodNow | undefined {
  const pod = pods.find(({ metadata }) => metadata.deletionTimestamp === undefined) ?? pods[0];
  if (pod === undefined) return undefined;
  const { nodeName: machine } = pod.spec;
  return {
    ...pod,
    revision: pod.metadata.annotations?.[REVISION_ANNOTATION],
    zone: machine === undefined ? undefined : caches.machines?.byKey(machine)?.zone,
  };
}

function troubleSources({ caches }: ObserveDeps, nodes: readonly NodeNow[]): TroubleSources {
  const agents = new Map(nodes.map(({ name, agent }) => [name, agent.facts]));
  const { failedCreates, storageClasses } = caches;
  return { caches, failedCreates, storageClasses, agentOf: ({ metadata }) => agents.get(metadata.name) };
}
