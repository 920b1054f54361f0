/** Pods as they come from a real cluster in size and shape, and the few fields of them that an operator keeps. */
import * as v from "valibot";
import { type LooseObject, ObjectMetaSchema, PODS, type Resource, typed } from "../../pkg/kube/resource.ts";

const Pod = v.object({
  metadata: v.object({
    name: ObjectMetaSchema.entries.name,
    namespace: ObjectMetaSchema.entries.namespace,
    uid: ObjectMetaSchema.entries.uid,
    resourceVersion: ObjectMetaSchema.entries.resourceVersion,
    deletionTimestamp: ObjectMetaSchema.entries.deletionTimestamp,
    labels: ObjectMetaSchema.entries.labels,
  }),
  spec: v.object({ nodeName: v.optional(v.string()) }),
  status: v.object({
    phase: v.optional(v.string()),
    podIP: v.optional(v.string()),
    conditions: v.optional(v.array(v.object({ type: v.string(), status: v.string() }))),
  }),
});

export type Pod = v.InferOutput<typeof Pod>;

export const PROJECTED_PODS: Resource<Pod> = typed(PODS, (value) => v.parse(Pod, value));

/** About 4 kB of JSON. The scheduling gate keeps a scheduler from ever looking at it. */
export function podBody(namespace: string, name: string): LooseObject {
  const cluster = `cluster-${name.length % 7}`;
  const labels = { "app.kubernetes.io/name": "valkey", "app.kubernetes.io/instance": cluster, "bench/pod": "true" };
  const probe = { exec: { command: ["/bin/check", "--socket", "/run/valkey/agent.sock"] }, periodSeconds: 1 };
  const env = Array.from({ length: 12 }, (_, n) => ({
    name: `SETTING_${n}`,
    value: `the value of setting number ${n}`,
  }));
  const resources = { requests: { cpu: "100m", memory: "256Mi" }, limits: { cpu: "1", memory: "512Mi" } };
  const container = (of: string) => ({
    name: of,
    image: `registry.example/${of}:1.0.0`,
    args: ["--config", `/etc/${of}/${of}.conf`, "--data", "/data"],
    env,
    resources,
    readinessProbe: probe,
    livenessProbe: probe,
    volumeMounts: [{ name: "run", mountPath: "/run/valkey" }],
    securityContext: { runAsNonRoot: true, readOnlyRootFilesystem: true, capabilities: { drop: ["ALL"] } },
  });
  return {
    metadata: { name, namespace, labels, annotations: { "bench/note": "x".repeat(200) } },
    spec: {
      automountServiceAccountToken: false,
      schedulingGates: [{ name: "bench/never" }],
      containers: [container("valkey"), container("agent")],
      volumes: [{ name: "run", emptyDir: {} }],
    },
  };
}
