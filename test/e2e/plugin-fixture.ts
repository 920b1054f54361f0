/** A cluster that exists only as objects, for the plugin to look at: no operator, no servers. */
import { nodeName } from "../../pkg/plan/objects/names.ts";
import { apply, kubectl } from "./cluster.ts";

export const NAME = "cache";
const PLACES = [0, 1, 2].flatMap((shard) => [0, 1].map((member) => ({ shard, member })));
const SLOTS = ["0-5461", "5462-10922", "10923-16383"];
const SINCE = "2026-11-16T12:00:00Z";

export async function makeCluster(namespace: string): Promise<void> {
  const metadata = { name: NAME, namespace };
  const spec = { masterCount: 3, replicasPerMaster: 1 };
  await apply(
    { apiVersion: "valkey.io/v1alpha1", kind: "ValkeyCluster", metadata, spec },
    ...PLACES.flatMap((place) => nodeAndPod(namespace, place.shard, place.member)),
  );
  for (const { shard, member } of PLACES) await nodeStatus(namespace, shard, member);
  await clusterStatus(namespace, { ready: false });
}

function labels(shard: number, member: number) {
  return {
    "valkey.io/cr": NAME,
    "valkey.io/kind": "valkeycluster",
    "valkey.io/node": nodeName(NAME, { shard, member }),
  };
}

/** The gate keeps the scheduler from ever starting it. */
function nodeAndPod(namespace: string, shard: number, member: number): object[] {
  const name = nodeName(NAME, { shard, member });
  const containers = [{ name: "valkey", image: "valkey/valkey:9.1" }];
  return [
    {
      apiVersion: "valkey.io/v1alpha1",
      kind: "ValkeyNode",
      metadata: { name, namespace, labels: labels(shard, member) },
      spec: {
        parent: { kind: "ValkeyCluster", name: NAME },
        shard,
        member,
        podManagementType: "statefulset",
        podTemplate: { spec: { containers } },
        podRevision: "one",
      },
    },
    ...(shard === 2 && member === 1
      ? [
          {
            apiVersion: "v1",
            kind: "Pod",
            metadata: { name: `${name}-0`, namespace, labels: labels(shard, member) },
            spec: { schedulingGates: [{ name: "test.valkey.io/never" }], containers },
          },
        ]
      : []),
  ];
}

async function nodeStatus(namespace: string, shard: number, member: number): Promise<void> {
  const name = nodeName(NAME, { shard, member });
  const pod = { name: `${name}-0`, uid: name, node: `node-${member}`, zone: `zone-${member}` };
  await patchStatus("valkeynode", namespace, name, { ready: true, role: member === 0 ? "primary" : "replica", pod });
}

export async function clusterStatus(namespace: string, { ready }: { readonly ready: boolean }): Promise<void> {
  const shards = SLOTS.map((slots, index) => ({
    index,
    primary: nodeName(NAME, { shard: index, member: 0 }),
    slots,
    replicas: [{ name: nodeName(NAME, { shard: index, member: 1 }), lagBytes: 0, inSync: true }],
  }));
  const readyPods = ready ? 6 : 5;
  await patchStatus("valkeycluster", namespace, NAME, {
    phase: ready ? "Running" : "Pending",
    observedGeneration: 1,
    message: `3 shards, ${readyPods} of 6 pods ready`,
    masterCount: 3,
    readyMasters: 3,
    pods: 6,
    readyPods,
    slotsAssigned: 16_384,
    shards,
    troubles: ready
      ? []
      : [{ reason: "NoNodeFits", severity: "error", nodes: 1, message: "no Node can take these pods. Add Nodes." }],
    conditions: [
      { type: "Ready", status: ready ? "True" : "False", reason: "Test", message: "", lastTransitionTime: SINCE },
    ],
  });
}

async function patchStatus(kind: string, namespace: string, name: string, status: object): Promise<void> {
  const patch = ["patch", kind, name, "-n", namespace, "--subresource=status", "--type=merge", "-p"];
  await kubectl([...patch, JSON.stringify({ status })]);
}
