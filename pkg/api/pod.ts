/** What of a pod a user may set: images, labels, where it may run, what it may use. */
import type { V1LabelSelector, V1NodeAffinity, V1PodAffinity, V1PodAntiAffinity } from "@kubernetes/client-node";
import * as v from "valibot";
import { celAmount, quantity } from "./quantity.ts";
import {
  choice,
  integer,
  list,
  listByKey,
  objectName,
  opaque,
  openapi,
  type Rule,
  rules,
  shaped,
  text,
} from "./schema.ts";

const pullSecret = v.object({ name: objectName("Name of a Secret of type kubernetes.io/dockerconfigjson.") });

/** The parts of an image reference; used by `image` and, with everything given, by what is resolved. */
export const imageEntries = {
  name: shaped(
    "Repository of the image, without a tag.",
    255,
    /^([A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]{1,5})?\/)?[a-z0-9][a-z0-9._/-]*$/,
    "must be a repository such as valkey/valkey, without a tag or a digest: the tag goes into the field tag",
  ),
  tag: shaped(
    'Tag of the image: a text, so quote it ("8.1"): without quotes YAML reads 8.10 as the number 8.1.',
    128,
    /^[A-Za-z0-9_][A-Za-z0-9._-]*$/,
    "must be an image tag of letters, digits, '.', '_' and '-', for example \"9.1\"",
  ),
  imagePullSecrets: listByKey("Secrets with which the image is pulled.", 16, ["name"], pullSecret),
} as const;

export function image(about: string) {
  return v.pipe(v.partial(v.object(imageEntries)), v.description(about));
}

const OURS = "keys under valkey.io/ belong to the operator: use another prefix";

function ourKeys(): Rule {
  return { rule: "self.all(key, !key.startsWith('valkey.io/'))", message: OURS };
}

export const labels = v.pipe(
  v.record(v.string(), text("", 63)),
  v.maxEntries(64),
  rules<Record<string, string>>(ourKeys(), {
    rule: "self.all(key, self[key].matches('^([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?)?$'))",
    message:
      "values must be label values: letters, digits, '-', '_' and '.', beginning and ending with a letter or digit",
  }),
  v.description("Labels added to the pods and to everything made for them."),
);

export function annotations(about: string) {
  return v.pipe(
    v.record(v.string(), text("", 16_384)),
    v.maxEntries(64),
    rules<Record<string, string>>(ourKeys()),
    v.description(about),
  );
}

export const nodeSelector = v.pipe(
  v.record(v.string(), text("", 63)),
  v.maxEntries(64),
  v.description("Labels that a Node must have to be given a pod."),
);

export const affinity = {
  podAntiAffinity: opaque<V1PodAntiAffinity>("As in a pod's spec.affinity.podAntiAffinity."),
  podAffinity: opaque<V1PodAffinity>("As in a pod's spec.affinity.podAffinity."),
  nodeAffinity: opaque<V1NodeAffinity>("As in a pod's spec.affinity.nodeAffinity."),
} as const;

const toleration = v.object({
  key: v.optional(text("Taint key; empty with operator Exists tolerates every taint.", 317)),
  operator: v.optional(choice("How key and value are compared.", ["Exists", "Equal", "Lt", "Gt"])),
  value: v.optional(text("Taint value.", 253)),
  effect: v.optional(choice("Taint effect; absent for all.", ["NoSchedule", "PreferNoSchedule", "NoExecute"])),
  tolerationSeconds: v.optional(
    integer("For NoExecute: how long it is tolerated.", Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER),
  ),
});
export const tolerations = list(
  "Taints of Nodes that the pods tolerate.",
  64,
  v.pipe(
    toleration,
    rules<v.InferOutput<typeof toleration>>({
      rule: "!has(self.value) || self.value == '' || !has(self.operator) || self.operator != 'Exists'",
      message: "a toleration with operator Exists has no value: remove value, or use operator Equal",
      fieldPath: ".value",
    }),
  ),
);

export const topologySpreadConstraints = listByKey(
  "How the pods spread over zones or nodes, as in a pod's spec.",
  16,
  ["topologyKey", "whenUnsatisfiable"],
  v.object({
    maxSkew: integer("Greatest difference in pods between two domains.", 1, 1000),
    topologyKey: text("Node label that names the domain.", 317),
    whenUnsatisfiable: choice("What to do when it cannot be met.", ["DoNotSchedule", "ScheduleAnyway"]),
    labelSelector: v.optional(opaque<V1LabelSelector>("Which pods are counted.")),
    minDomains: v.optional(integer("Least number of domains.", 1, 1000)),
    matchLabelKeys: v.optional(list("Pod labels whose values are added to the selector.", 16, text("", 317))),
    nodeAffinityPolicy: v.optional(choice("Whether Nodes outside nodeAffinity count.", ["Honor", "Ignore"])),
    nodeTaintsPolicy: v.optional(choice("Whether Nodes with taints count.", ["Honor", "Ignore"])),
  }),
);

const amounts = v.pipe(v.record(v.string(), quantity()), v.maxEntries(16));
const resourcesObject = v.object({
  requests: v.optional(v.pipe(amounts, v.description("What is set aside for the container."))),
  limits: v.optional(v.pipe(amounts, v.description("What the container may use at most."))),
});

const request = celAmount("self.requests[name]");
const limit = celAmount("self.limits[name]");

export function resources(about: string) {
  return v.pipe(
    resourcesObject,
    rules<v.InferOutput<typeof resourcesObject>>({
      rule:
        "!has(self.requests) || !has(self.limits) || self.requests.all(name, !(name in self.limits) || " +
        `!${request.valid} || !${limit.valid} || ${request.amount} <= ${limit.amount})`,
      message: "requests must not be greater than limits",
    }),
    v.description(about),
  );
}

const profileTypes = ["RuntimeDefault", "Localhost"] as const;
const SHARED_UID =
  "agent and server share one process namespace and must run under one user that is not root: a user id from 1 up";

export const securityContext = v.pipe(
  v.object({
    runAsUser: v.optional(
      v.pipe(
        v.number(),
        v.integer(),
        openapi<number>({ format: "int64" }),
        rules<number>({
          rule: "self >= 1 && self <= 2147483647",
          message: `${SHARED_UID}, for example 1000`,
        }),
        v.description("User id of every container of the pod."),
      ),
    ),
    runAsGroup: v.optional(integer("Group id of every container of the pod.", 1, 2_147_483_647)),
    runAsNonRoot: v.optional(
      v.pipe(
        v.boolean(),
        rules<boolean>({ rule: "self", message: `must be true: ${SHARED_UID}` }),
        v.description("Always true."),
      ),
    ),
    fsGroup: v.optional(integer("Group that owns the volumes.", 1, 2_147_483_647)),
    fsGroupChangePolicy: v.optional(choice("When the volumes' owner is set.", ["OnRootMismatch", "Always"])),
    supplementalGroups: v.optional(list("More groups of the containers.", 32, integer("", 1, 2_147_483_647))),
    supplementalGroupsPolicy: v.optional(choice("Whether groups of the image count.", ["Merge", "Strict"])),
    seccompProfile: v.optional(
      v.pipe(
        v.object({
          type: choice(
            "RuntimeDefault, or Localhost for a profile of the Node; Unconfined is not allowed.",
            profileTypes,
          ),
          localhostProfile: v.optional(text("Path of the profile, for Localhost.", 1024)),
        }),
        v.description("Filter of system calls."),
      ),
    ),
    appArmorProfile: v.optional(
      v.pipe(
        v.object({
          type: choice(
            "RuntimeDefault, or Localhost for a profile of the Node; Unconfined is not allowed.",
            profileTypes,
          ),
          localhostProfile: v.optional(text("Name of the profile, for Localhost.", 1024)),
        }),
        v.description("AppArmor profile."),
      ),
    ),
    seLinuxOptions: v.optional(
      v.pipe(
        v.object({
          user: v.optional(text("SELinux user.", 253)),
          role: v.optional(text("SELinux role.", 253)),
          type: v.optional(text("SELinux type.", 253)),
          level: v.optional(text("SELinux level.", 253)),
        }),
        v.description("SELinux label of the containers."),
      ),
    ),
    seLinuxChangePolicy: v.optional(choice("How volumes are relabelled.", ["MountOption", "Recursive"])),
    sysctls: v.optional(
      listByKey(
        "Kernel settings of the pod.",
        32,
        ["name"],
        v.object({ name: text("Name.", 253), value: text("Value.", 253) }),
      ),
    ),
  }),
  v.description(
    "As in a pod's spec.securityContext, as far as the agent can still watch over the server: one user for all containers, never root, with filtered system calls.",
  ),
);
