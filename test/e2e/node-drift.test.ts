/**
 * ValkeyNodes as the operator keeps them. The nodes are made here, without a cluster, around a plain server: what is
 * looked at is claim, Service, workload and pod.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { ValkeyNode } from "../../pkg/api/node.ts";
import {
  NODE_CLAIMS,
  NODE_DEPLOYMENTS,
  NODE_PODS,
  NODE_STATEFUL_SETS,
  OWN_SERVICES,
} from "../../pkg/controllers/node/resources.ts";
import { VALKEY_NODES } from "../../pkg/controllers/resources.ts";
import { CONFIG_MAPS, type KubeObject, type Resource, SECRETS } from "../../pkg/kube/resource.ts";
import { inputOf, OPERATOR, resolved } from "../../pkg/plan/objects/fixtures.ts";
import { clusterLabels, nodeLabels } from "../../pkg/plan/objects/names.ts";
import { nodesOf } from "../../pkg/plan/objects/nodes.ts";
import type { DesiredNode } from "../../pkg/plan/objects/types.ts";
import { wireOf } from "../../pkg/plan/objects/wire.ts";
import { until } from "../lib/until.ts";
import { kubectl } from "./cluster.ts";
import { installOperator } from "./install.ts";
import { client, eventOf } from "./operator.ts";

const namespace = `nodes-${crypto.randomUUID().slice(0, 6)}`;
/** Within which a stranger's change has to be put back. */
const SOON = { timeoutMs: 5000, everyMs: 50 };

beforeAll(async () => {
  await installOperator();
  await kubectl(["create", "namespace", namespace]);
}, 300_000);
afterAll(async () => void (await kubectl(["delete", "namespace", namespace, "--wait=false"])));

/** A server that is ready at once and ends at once. */
function podSpec(cluster: string) {
  return {
    terminationGracePeriodSeconds: 1,
    hostname: `${cluster}-0-0-0`,
    subdomain: `${cluster}-headless`,
    containers: [
      {
        name: "valkey",
        image: "valkey/valkey:9.1",
        command: ["valkey-server", "--save", ""],
        readinessProbe: { tcpSocket: { port: 6379 }, periodSeconds: 1 },
      },
    ],
    volumes: [
      { name: "data", persistentVolumeClaim: { claimName: `${cluster}-0-0-data` } },
      { name: "config", configMap: { name: `${cluster}-config` } },
      { name: "secrets", secret: { secretName: `${cluster}-secrets` } },
    ],
  };
}

type Kind = "statefulset" | "deployment";

function nodeObject(cluster: string, podManagementType: Kind = "statefulset"): DesiredNode {
  const spec = resolved({ podManagementType, pvc: { storageSize: "10Mi" } });
  const meta = { ...inputOf().cluster, name: cluster, namespace };
  const [node] = nodesOf({ cluster: meta, spec, operator: OPERATOR, wire: wireOf(undefined) }, []);
  if (node === undefined) throw new Error("a cluster has nodes");
  const { ownerReferences: _none, ...metadata } = node.metadata;
  const podTemplate = { ...node.spec.podTemplate, spec: podSpec(cluster) };
  return { ...node, metadata, spec: { ...node.spec, podTemplate } };
}

async function makeMounts(cluster: string): Promise<void> {
  const labels = clusterLabels(cluster);
  await client.create(CONFIG_MAPS, { metadata: { namespace, name: `${cluster}-config`, labels }, data: {} });
  await client.create(SECRETS, { metadata: { namespace, name: `${cluster}-secrets`, labels }, type: "Opaque" });
}

async function makeNode(cluster: string, kind?: Kind): Promise<string> {
  await makeMounts(cluster);
  await client.create(VALKEY_NODES, nodeObject(cluster, kind));
  const name = `${cluster}-0-0`;
  await nodeWhere(name, "runs", ({ status }) => status?.ready === true);
  return name;
}

async function nodeWhere(name: string, what: string, accept: (node: ValkeyNode) => boolean): Promise<ValkeyNode> {
  let last: ValkeyNode | undefined;
  try {
    const look = async () => {
      last = await client.get(VALKEY_NODES, { namespace, name });
      return accept(last) && last;
    };
    return await until(`${name} ${what}`, look, { timeoutMs: 120_000, everyMs: 50 });
  } catch (error) {
    throw new Error(`${name} ${what}? ${JSON.stringify(last?.status)}`, { cause: error });
  }
}

/** Drift that was put back before may be what it shows at first. */
async function drifted(name: string, what: string): Promise<void> {
  await nodeWhere(name, `shows the drift of ${what}`, (node) =>
    (node.status?.conditions ?? []).some(
      ({ type, status, message }) => type === "Drifted" && status === "True" && message.includes(what),
    ),
  );
}

async function find<T extends KubeObject>(resource: Resource<T>, name: string): Promise<T | undefined> {
  return client.find(resource, { namespace, name });
}

/** Changes something as a person would, and waits until it is as it was. */
async function tamper<T extends KubeObject>(
  resource: Resource<T>,
  name: string,
  body: object,
  isRight: (object: T) => boolean,
): Promise<void> {
  await client.patch(resource, { namespace, name }, { type: "merge", body }, { fieldManager: "kubectl-edit" });
  await until(
    `${resource.kind} ${name} is as it was`,
    async () => {
      const now = await find(resource, name);
      return now !== undefined && isRight(now);
    },
    SOON,
  );
}

function podUid({ status }: ValkeyNode): string {
  return status?.pod?.uid ?? "";
}

describe("a node", () => {
  test("gets claim and Service at once, and its pod when what it mounts is there", async () => {
    const node = nodeObject("waits");
    await client.create(VALKEY_NODES, node);
    await nodeWhere("waits-0-0", "tells what it waits for", ({ status }) =>
      (status?.message ?? "").includes("ConfigMap waits-config, Secret waits-secrets"),
    );
    const claim = await until("it has its claim", async () => find(NODE_CLAIMS, "waits-0-0-data"));
    expect(claim.metadata.ownerReferences).toBeUndefined();
    const service = await until("it has its Service", async () => find(OWN_SERVICES, "waits-0-0"));
    expect(service.spec).toMatchObject({ publishNotReadyAddresses: true });
    expect(await find(NODE_STATEFUL_SETS, "waits-0-0")).toBeUndefined();
    await makeMounts("waits");
    const { status } = await nodeWhere(
      "waits-0-0",
      "runs, with all that is known of its pod and volume",
      ({ status }) => status?.ready === true && status.pod?.zone !== undefined && status.volume?.capacity !== undefined,
    );
    expect(status).toMatchObject({
      phase: "Running",
      serviceName: "waits-0-0",
      role: "none",
      pod: { name: "waits-0-0-0", revision: node.spec.podRevision },
      volume: { claim: "waits-0-0-data", capacity: "10Mi" },
    });
    expect(status?.pod?.zone).toStartWith("zone-");
    expect(status?.conditions).toBeUndefined();
  });

  test("puts back what somebody edits, relabels or deletes, and tells", async () => {
    const name = await makeNode("drifts");
    const ours = nodeLabels("drifts", { shard: 0, member: 0 });
    const hasLabels = ({ metadata }: KubeObject) =>
      Object.entries(ours).every(([key, value]) => metadata.labels?.[key] === value);
    const before = podUid(await client.get(VALKEY_NODES, { namespace, name }));
    await tamper(
      NODE_STATEFUL_SETS,
      name,
      { metadata: { labels: { "app.kubernetes.io/managed-by": "me" } } },
      hasLabels,
    );
    await tamper(NODE_STATEFUL_SETS, name, { metadata: { labels: { "valkey.io/node": null } } }, hasLabels);
    await tamper(
      NODE_STATEFUL_SETS,
      name,
      { spec: { updateStrategy: { type: "RollingUpdate" } } },
      ({ spec }) => JSON.stringify(spec["updateStrategy"]) === '{"type":"OnDelete"}',
    );
    await tamper(
      OWN_SERVICES,
      name,
      { spec: { selector: { stray: "yes" } } },
      ({ spec }) => !JSON.stringify(spec["selector"]).includes("stray"),
    );
    await tamper(OWN_SERVICES, name, { metadata: { labels: { "valkey.io/cr": null } } }, hasLabels);
    await tamper(NODE_CLAIMS, `${name}-data`, { metadata: { labels: { "valkey.io/node": "another" } } }, hasLabels);
    await tamper(
      NODE_CLAIMS,
      `${name}-data`,
      { metadata: { labels: { "app.kubernetes.io/managed-by": null } } },
      hasLabels,
    );
    await client.delete(OWN_SERVICES, { namespace, name });
    await until("the Service is back", async () => find(OWN_SERVICES, name), SOON);
    const old = await client.get(NODE_STATEFUL_SETS, { namespace, name });
    await client.delete(NODE_STATEFUL_SETS, { namespace, name }, { propagationPolicy: "Orphan" });
    await until(
      "the StatefulSet is back",
      async () => {
        const now = await find(NODE_STATEFUL_SETS, name);
        return now !== undefined && now.metadata.uid !== old.metadata.uid;
      },
      SOON,
    );
    await drifted(name, "StatefulSet drifts-0-0");
    expect((await eventOf(namespace, name, "DriftRepaired")).note).toContain("to change it, edit ValkeyCluster drifts");
    expect(podUid(await nodeWhere(name, "runs", ({ status }) => status?.ready === true))).toBe(before);
  });

  test("whose workload has a field that cannot be changed gets another around the same pod", async () => {
    const name = await makeNode("renamed");
    const before = podUid(await client.get(VALKEY_NODES, { namespace, name }));
    const body = { spec: { podTemplate: { spec: { subdomain: "other" } } } };
    await client.patch(VALKEY_NODES, { namespace, name }, { type: "merge", body });
    await until("the StatefulSet has the new name of its Service", async () => {
      const set = await find(NODE_STATEFUL_SETS, name);
      return set?.spec.serviceName === "other";
    });
    await until("the new StatefulSet has taken over the pod", async () => {
      const [pod, set] = [await find(NODE_PODS, `${name}-0`), await find(NODE_STATEFUL_SETS, name)];
      return pod?.metadata.uid === before && pod.metadata.ownerReferences?.[0]?.uid === set?.metadata.uid;
    });
  });

  test("as a Deployment keeps its pod through a new template until its parent lets it go", async () => {
    const name = await makeNode("deployed", "deployment");
    const before = podUid(await client.get(VALKEY_NODES, { namespace, name }));
    const annotations = { annotations: { note: "new" } };
    const change = { spec: { podRevision: "newer", podTemplate: annotations } };
    await client.patch(VALKEY_NODES, { namespace, name }, { type: "merge", body: change });
    await until("the Deployment has the new template", async () => {
      const deployment = await find(NODE_DEPLOYMENTS, name);
      return JSON.stringify(deployment?.spec["template"]).includes('"note":"new"');
    });
    expect(podUid(await client.get(VALKEY_NODES, { namespace, name }))).toBe(before);
    await client.patch(VALKEY_NODES, { namespace, name }, { type: "merge", body: { spec: { replacePod: before } } });
    const after = await nodeWhere(
      name,
      "has a new pod",
      (node) => podUid(node) !== before && node.status?.ready === true,
    );
    expect(after.status?.pod?.revision).toBe("newer");
  });

  test("as a StatefulSet has its pod replaced when its parent lets it go", async () => {
    const name = await makeNode("replaced");
    const before = podUid(await client.get(VALKEY_NODES, { namespace, name }));
    const change = { spec: { podRevision: "newer", replacePod: before } };
    await client.patch(VALKEY_NODES, { namespace, name }, { type: "merge", body: change });
    const after = await nodeWhere(
      name,
      "has a new pod",
      (node) => podUid(node) !== before && node.status?.ready === true,
    );
    expect(after.status?.pod?.revision).toBe("newer");
  });

  test("says what is in its way, leaves it alone, and goes on when it is gone", async () => {
    await makeMounts("blocked");
    const foreign = { metadata: { namespace, name: "blocked-0-0" }, spec: { ports: [{ port: 80 }] } };
    await client.create(OWN_SERVICES, foreign);
    await client.create(VALKEY_NODES, nodeObject("blocked"));
    await nodeWhere("blocked-0-0", "names the obstacle", ({ status }) =>
      (status?.message ?? "").includes("Service blocked-0-0 is in the way, and it was not made by this operator"),
    );
    await client.delete(OWN_SERVICES, { namespace, name: "blocked-0-0" });
    await nodeWhere("blocked-0-0", "runs", ({ status }) => status?.ready === true);
  });

  test("is suspended and comes back with its volume", async () => {
    const name = await makeNode("sleeps");
    await client.patch(VALKEY_NODES, { namespace, name }, { type: "merge", body: { spec: { suspended: true } } });
    await nodeWhere(name, "is suspended", ({ status }) => status?.phase === "Suspended" && status.pod === undefined);
    expect(await find(NODE_CLAIMS, `${name}-data`)).toBeDefined();
    await client.patch(VALKEY_NODES, { namespace, name }, { type: "merge", body: { spec: { suspended: false } } });
    await nodeWhere(name, "runs", ({ status }) => status?.ready === true);
  });
});
