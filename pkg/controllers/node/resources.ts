/**
 * Kubernetes' objects as the caches keep them for nodes. What we apply is kept with its whole spec, or drift could not be
 * seen; of everything else only what is looked at.
 */
import * as v from "valibot";
import {
  CONFIG_MAPS,
  DEPLOYMENTS,
  NODES,
  ObjectMetaSchema,
  PODS,
  PVCS,
  type Resource,
  SECRETS,
  SERVICES,
  STATEFUL_SETS,
  typed,
} from "../../kube/resource.ts";
import { REVISION_ANNOTATION } from "../../plan/objects/names.ts";
import { claimStatusFacts, podSpecFacts, podStatusFacts, workloadStatusFacts } from "../../plan/trouble/facts.ts";

const spec = v.record(v.string(), v.unknown());
const selector = v.looseObject({ matchLabels: v.optional(v.record(v.string(), v.string()), {}) });

const StatefulSet = v.object({
  metadata: ObjectMetaSchema,
  spec: v.looseObject({
    selector,
    serviceName: v.optional(v.string()),
    podManagementPolicy: v.optional(v.string()),
  }),
});
const Deployment = v.object({
  metadata: ObjectMetaSchema,
  spec: v.looseObject({ selector }),
  status: v.optional(workloadStatusFacts, {}),
});
export type NodeStatefulSet = v.InferOutput<typeof StatefulSet>;
export type NodeDeployment = v.InferOutput<typeof Deployment>;

export const NODE_STATEFUL_SETS: Resource<NodeStatefulSet> = typed(STATEFUL_SETS, (value) =>
  v.parse(StatefulSet, value),
);
export const NODE_DEPLOYMENTS: Resource<NodeDeployment> = typed(DEPLOYMENTS, (value) => v.parse(Deployment, value));

const Service = v.object({ metadata: ObjectMetaSchema, spec });
export type OwnService = v.InferOutput<typeof Service>;
export const OWN_SERVICES: Resource<OwnService> = typed(SERVICES, (value) => v.parse(Service, value));

const Claim = v.object({
  metadata: ObjectMetaSchema,
  spec: v.looseObject({
    storageClassName: v.optional(v.string()),
    resources: v.optional(v.looseObject({ requests: v.optional(v.record(v.string(), v.string()), {}) }), {}),
  }),
  status: v.optional(claimStatusFacts, {}),
});
export type NodeClaim = v.InferOutput<typeof Claim>;
export const NODE_CLAIMS: Resource<NodeClaim> = typed(PVCS, (value) => v.parse(Claim, value));

/** Annotations of pods may be long and are of no interest here. */
const Pod = v.object({
  metadata: v.object({
    ...ObjectMetaSchema.entries,
    annotations: v.optional(
      v.pipe(
        v.record(v.string(), v.string()),
        v.transform((all): Record<string, string> => {
          const revision = all[REVISION_ANNOTATION];
          return revision === undefined ? {} : { [REVISION_ANNOTATION]: revision };
        }),
      ),
    ),
  }),
  spec: podSpecFacts,
  status: v.optional(podStatusFacts, {}),
});
export type NodePodObject = v.InferOutput<typeof Pod>;
export const NODE_PODS: Resource<NodePodObject> = typed(PODS, (value) => v.parse(Pod, value));

/** What agents are told, of which the content is read back: see pkg/plan/objects/desired.ts. */
const data = v.optional(v.record(v.string(), v.string()), {});
const ConfigMap = v.object({ metadata: ObjectMetaSchema, data });
const Secret = v.object({ metadata: ObjectMetaSchema, type: v.optional(v.string()), data });
export type OwnConfigMap = v.InferOutput<typeof ConfigMap>;
export type OwnSecret = v.InferOutput<typeof Secret>;
export const OWN_CONFIG_MAPS: Resource<OwnConfigMap> = typed(CONFIG_MAPS, (value) => v.parse(ConfigMap, value));
export const OWN_SECRETS: Resource<OwnSecret> = typed(SECRETS, (value) => v.parse(Secret, value));

const ZONES = ["topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"] as const;

/** A Node of Kubernetes: where it is, and whether it is well. */
const Machine = v.pipe(
  v.object({
    metadata: ObjectMetaSchema,
    spec: v.optional(
      v.object({ taints: v.optional(v.array(v.object({ key: v.string(), effect: v.string() })), []) }),
      {},
    ),
    status: v.optional(
      v.object({
        conditions: v.optional(
          v.array(v.object({ type: v.string(), status: v.string(), lastTransitionTime: v.optional(v.string()) })),
          [],
        ),
      }),
      {},
    ),
  }),
  v.transform(({ metadata: { name, uid, resourceVersion, deletionTimestamp, labels = {} }, spec, status }) => ({
    metadata: { name, uid, resourceVersion, deletionTimestamp },
    zone: ZONES.map((label) => labels[label]).find((zone) => zone !== undefined),
    taints: spec.taints,
    ready: status.conditions.find(({ type }) => type === "Ready"),
  })),
);
export type Machine = v.InferOutput<typeof Machine>;
export const MACHINES: Resource<Machine> = typed(NODES, (value) => v.parse(Machine, value));
