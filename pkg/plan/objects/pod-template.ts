/** The pod of a node, complete; and the revision that says when a running one has to be replaced. */
import type { V1PodSpec, V1Volume } from "@kubernetes/client-node";
import type { ResolvedClusterSpec } from "../../api/resolve.ts";
import { bytesOf } from "./bytes.ts";
import { complete } from "./complete.ts";
import { agentContainer, exporterContainer, valkeyContainer } from "./containers.ts";
import { hashOf } from "./hash.ts";
import { imagesOf } from "./images.ts";
import { isVoter } from "./members.ts";
import {
  claimName,
  clusterAnnotations,
  configMapName,
  headlessServiceName,
  identitySecretName,
  type Labels,
  type MemberRef,
  nodeLabels,
  nodeName,
  podHostname,
  secretsName,
} from "./names.ts";
import { placementOf, VOTERS } from "./placement.ts";
import { podSecurity } from "./security.ts";
import type { ClusterMeta, OperatorFacts } from "./types.ts";
import type { WirePorts } from "./wire.ts";

export interface PodInput {
  readonly cluster: ClusterMeta;
  readonly spec: ResolvedClusterSpec;
  readonly operator: OperatorFacts;
  readonly wire: WirePorts;
  readonly place: MemberRef;
}

export interface PodTemplate {
  readonly labels: Labels;
  readonly annotations: Labels;
  readonly spec: V1PodSpec;
}

export function podTemplateOf(input: PodInput): PodTemplate {
  const { cluster, spec, place } = input;
  return {
    labels: { ...spec.labels, ...nodeLabels(cluster.name, place), ...(isVoter(spec, place) ? VOTERS : {}) },
    annotations: { ...spec.annotations, ...clusterAnnotations(cluster.name) },
    spec: podSpec(input),
  };
}

function podSpec(input: PodInput): V1PodSpec {
  const { cluster, spec, operator, wire, place } = input;
  const node = nodeName(cluster.name, place);
  const images = imagesOf(spec, operator.sidecarImage);
  const of = (image: string) => ({ cluster, spec, operator, node, image });
  return {
    hostname: podHostname(node),
    subdomain: headlessServiceName(cluster.name),
    shareProcessNamespace: true,
    automountServiceAccountToken: false,
    // A variable for every Service of the namespace helps nobody here.
    enableServiceLinks: false,
    terminationGracePeriodSeconds: graceSeconds(spec),
    securityContext: complete(podSecurity(spec.securityContext)),
    ...scheduling(cluster.name, spec, place),
    ...(images.pullSecrets.length === 0 ? {} : { imagePullSecrets: [...images.pullSecrets] }),
    initContainers: [agentContainer(of(images.agent))],
    containers: [
      valkeyContainer(of(images.valkey), wire),
      ...(spec.exporter.enabled ? [exporterContainer(of(images.exporter))] : []),
    ],
    volumes: volumes(cluster, spec, node),
  };
}

function scheduling(cluster: string, spec: ResolvedClusterSpec, place: MemberRef): Partial<V1PodSpec> {
  const { nodeSelector = {}, tolerations = [], priorityClassName, serviceAccountName } = spec;
  return {
    ...complete(placementOf(cluster, spec, place)),
    ...(Object.keys(nodeSelector).length === 0 ? {} : { nodeSelector }),
    ...(tolerations.length === 0 ? {} : { tolerations: complete(tolerations) }),
    ...(priorityClassName === undefined ? {} : { priorityClassName }),
    ...(serviceAccountName === undefined ? {} : { serviceAccountName }),
  };
}

/** What is mounted from Secrets is readable by the group that owns the volumes, which is the pod's own. */
const SECRET_MODE = 0o440;
/** Configuration, users, certificates: kilobytes. */
const RUN_SIZE = "16Mi";

function volumes(cluster: ClusterMeta, spec: ResolvedClusterSpec, node: string): V1Volume[] {
  const secret = (name: string, secretName: string) => ({ name, secret: { secretName, defaultMode: SECRET_MODE } });
  const data = spec.pvc === undefined ? { emptyDir: {} } : { persistentVolumeClaim: { claimName: claimName(node) } };
  return [
    { name: "run", emptyDir: { medium: "Memory", sizeLimit: RUN_SIZE } },
    { name: "data", ...data },
    { name: "config", configMap: { name: configMapName(cluster.name) } },
    secret("secrets", secretsName(cluster.name)),
    secret("identity", identitySecretName(node)),
  ];
}

const HANDOVER_SECONDS = 30;
/** What a slow disk writes. */
const SAVED_BYTES_PER_SECOND = 50 * 1024 * 1024;
const UNLIMITED_SECONDS = 600;
const MOST_SECONDS = 3600;

/** Time to hand over, and to write everything that fits into the memory to disk. */
export function graceSeconds({ resources }: Pick<ResolvedClusterSpec, "resources">): number {
  const bytes = bytesOf(resources.limits?.["memory"]);
  const save = bytes === 0 ? UNLIMITED_SECONDS : Math.ceil(bytes / SAVED_BYTES_PER_SECOND);
  return Math.min(HANDOVER_SECONDS + save, MOST_SECONDS);
}

/** Raised when a release changes the pod in a way for which running ones have to be replaced. */
const POD_GENERATION = 1;

/**
 * Made from what the user said and from where the agents find the operator, not from the pod itself: what a new release
 * does differently reaches a pod when it is next replaced, and replaces none. So the agent's image counts only where the
 * user names it.
 */
export function podRevisionOf(input: PodInput): string {
  const { cluster, spec, operator, wire, place } = input;
  const { valkeyImage, sidecarImage, exporter, acl, pvc, resources, securityContext, labels, annotations } = spec;
  const exported = exporter.enabled ? { exporter, login: acl !== undefined } : {};
  return hashOf([
    POD_GENERATION,
    { valkeyImage, sidecarImage, resources, securityContext, labels, annotations, volume: pvc !== undefined },
    exported,
    { port: wire.port, busPort: wire.busPort, plainPort: wire.plainPort },
    scheduling(cluster.name, spec, place),
    { url: operator.url, namespace: operator.namespace, trustDomain: operator.trustDomain },
  ]);
}
