/** Every object that is built for a cluster, before a real API server: it takes them, and a second apply changes nothing. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { ValkeyClusterSpec } from "../../pkg/api/cluster-spec.ts";
import type { ValkeyNode } from "../../pkg/api/node.ts";
import { VALKEY_BUNDLES, VALKEY_NODES } from "../../pkg/controllers/resources.ts";
import { Applier, type ApplierOptions } from "../../pkg/kube/apply.ts";
import {
  CONFIG_MAPS,
  DEPLOYMENTS,
  defineResource,
  NETWORK_POLICIES,
  PDBS,
  PODS,
  PVCS,
  type Resource,
  SECRETS,
  SERVICE_ACCOUNTS,
  SERVICES,
  STATEFUL_SETS,
} from "../../pkg/kube/resource.ts";
import { claimOf, serviceOf, workloadOf } from "../../pkg/plan/node/objects.ts";
import type { NodeView } from "../../pkg/plan/node/view.ts";
import { desiredObjects } from "../../pkg/plan/objects/desired.ts";
import { inputOf, MATERIAL, tlsSpec } from "../../pkg/plan/objects/fixtures.ts";
import type { Desired, DesiredInput, DesiredObject } from "../../pkg/plan/objects/types.ts";
import { until } from "../lib/until.ts";
import { installCrds, kubectl } from "./api-server.ts";
import { client } from "./operator.ts";

const namespace = `objects-${crypto.randomUUID().slice(0, 6)}`;
const signal = new AbortController().signal;

beforeAll(async () => {
  await installCrds();
  await kubectl(["create", "namespace", namespace]);
  await until("pods may be made", async () => client.find(SERVICE_ACCOUNTS, { namespace, name: "default" }));
  const level = ["enforce", "warn"].map((mode) => `pod-security.kubernetes.io/${mode}=restricted`);
  await kubectl(["label", "namespace", namespace, ...level]);
}, 300_000);
afterAll(async () => void (await kubectl(["delete", "namespace", namespace, "--wait=false"])));

const KINDS = new Map<string, Resource>(
  [
    CONFIG_MAPS,
    SECRETS,
    SERVICES,
    PVCS,
    PDBS,
    NETWORK_POLICIES,
    STATEFUL_SETS,
    DEPLOYMENTS,
    defineResource(VALKEY_NODES),
    defineResource(VALKEY_BUNDLES),
  ].map((resource) => [resource.kind, resource]),
);

function resourceOf({ kind }: DesiredObject): Resource {
  const resource = KINDS.get(kind);
  if (resource === undefined) throw new Error(`nobody told this test about ${kind}`);
  return resource;
}

const ACL = 'valkey-user: {name: admin, pass: ["root"]}\nusers: [{name: app, pass: ["one"], acl: "~* +@read"}]\n';

/** The server judges and answers with what it would store, and stores nothing: an operator may be running. */
const judging: ApplierOptions["client"] = {
  apply: async (resource, body, options) => client.apply(resource, body, { ...options, dryRun: true }),
  find: async (resource, ref, options) => client.find(resource, ref, options),
  delete: async () => "absent",
};
const refusing: ApplierOptions["client"] = {
  ...judging,
  apply: async (resource, { metadata }) => {
    throw new Error(`${resource.kind} ${metadata.name} is not stored as it was sent`);
  },
};

interface Case {
  readonly name: string;
  readonly spec: ValkeyClusterSpec;
  readonly more?: Partial<DesiredInput>;
}

const CASES: readonly Case[] = [
  { name: "plain", spec: {} },
  {
    name: "everything",
    spec: {
      masterCount: 3,
      replicasPerMaster: 2,
      tls: "tls",
      acl: "users",
      azDistribution: { zones: ["zone-0", "zone-1", "zone-2"] },
      podAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [
          { weight: 1, podAffinityTerm: { topologyKey: "kubernetes.io/hostname" } },
        ],
      },
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchExpressions: [{ key: "kubernetes.io/os", operator: "In", values: ["linux"] }] }],
        },
      },
      nodeSelector: { "kubernetes.io/os": "linux" },
      tolerations: [{ key: "infra", operator: "Exists", effect: "NoExecute", tolerationSeconds: 60 }],
      topologySpreadConstraints: [
        { maxSkew: 2, topologyKey: "kubernetes.io/hostname", whenUnsatisfiable: "ScheduleAnyway" },
      ],
      serviceAccountName: "default",
      resources: { requests: { memory: "128Mi", cpu: "100m" }, limits: { memory: "256Mi" } },
      labels: { team: "blue" },
      annotations: { note: "a note" },
      securityContext: { runAsUser: 999, runAsGroup: 999, fsGroup: 999, supplementalGroups: [5] },
      pvc: { storageSize: "1Gi" },
      service: { type: "NodePort", annotations: { a: "b" } },
      readService: { enabled: true },
      networkPolicy: { enabled: true },
      valkeyImage: { imagePullSecrets: [{ name: "pull" }] },
      config: { "maxmemory-policy": "allkeys-lru" },
    },
    more: {
      tls: { value: { spec: tlsSpec({ tlsPort: 6380, disableNonTlsPort: false }), material: { value: MATERIAL } } },
      acl: { value: ACL },
    },
  },
  {
    name: "deployments",
    spec: {
      podManagementType: "deployment",
      replicasPerMaster: 0,
      resources: {},
      exporter: { enabled: false },
      azDistribution: { zones: ["zone-0"], replicaStrategy: "spread" },
    },
  },
  { name: "suspended", spec: { suspended: true, pvc: { storageSize: "1Gi", storageClassName: "standard" } } },
];

function desiredOf({ name, spec, more }: Case): Desired {
  const cluster = { name, namespace, uid: crypto.randomUUID() };
  const desired = desiredObjects(inputOf(spec, { cluster, ...more }));
  expect(desired.troubles).toEqual([]);
  return desired;
}

/** As the node controller would make them; `uid` as if the ValkeyNode was stored. */
function nodeObjects(desired: Desired): { readonly objects: DesiredObject[]; readonly nodes: ValkeyNode[] } {
  const nodes = desired.objects
    .filter(({ kind }) => kind === "ValkeyNode")
    .map((node) => VALKEY_NODES.parse({ ...node, metadata: { ...node.metadata, uid: crypto.randomUUID() } }));
  const view: NodeView = { missing: [], pods: [], roleForMs: 0 };
  const objects = nodes.flatMap((node) => [claimOf(node, view), serviceOf(node), workloadOf(node, view)]);
  return { objects: objects.filter((object) => object !== undefined), nodes };
}

describe.each(CASES.map((one) => [one.name, one] as const))("%s", (_name, one) => {
  test("its pods are let in where only restricted ones are", async () => {
    const [node] = nodeObjects(desiredOf(one)).nodes;
    const { labels, annotations, spec } = node?.spec.podTemplate ?? {};
    const body = { metadata: { namespace, name: `${one.name}-pod`, labels, annotations }, spec };
    await client.create(PODS, body, { dryRun: true });
  });

  test("every object is taken, and a second apply of what nobody changed sends nothing", async () => {
    const desired = desiredOf(one);
    for (const object of [...desired.objects, ...nodeObjects(desired).objects]) {
      const request = { owner: "test", signal };
      const made = await new Applier({ client: judging }).apply(resourceOf(object), object, {
        ...request,
        live: undefined,
      });
      if (made.did !== "create") throw new Error(`${object.kind} ${object.metadata.name}: ${made.did}`);
      // One that has just begun and remembers nothing.
      const again = await new Applier({ client: refusing }).apply(resourceOf(object), object, {
        ...request,
        live: made.object,
      });
      expect(`${object.kind}: ${again.did}`).toBe(`${object.kind}: nothing`);
    }
  });
});

test("a pod without restrictions would not be let in", async () => {
  const body = { metadata: { namespace, name: "open" }, spec: { containers: [{ name: "valkey", image: "valkey" }] } };
  const refused = await client.create(PODS, body, { dryRun: true }).catch((error: unknown) => String(error));
  expect(refused).toContain("restricted");
});
