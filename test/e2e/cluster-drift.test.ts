/** A stranger changes what the operator keeps: it is put back soon, and said. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Redis as Valkey } from "iovalkey";
import { VALKEY_NODES } from "../../pkg/controllers/resources.ts";
import {
  CONFIG_MAPS,
  defineResource,
  PDBS,
  PVCS,
  type Resource,
  SECRETS,
  SERVICES,
  STATEFUL_SETS,
} from "../../pkg/kube/resource.ts";
import { until } from "../lib/until.ts";
import { kubectl } from "./cluster.ts";
import { applyCluster, type ClusterRef, cli, clusterAt, clusterReady, clusterWhere, podsOf } from "./clusters.ts";
import { installOperator } from "./install.ts";
import { client, eventOf } from "./operator.ts";
import { issued } from "./pki-objects.ts";

const ref: ClusterRef = { namespace: `drift-${crypto.randomUUID().slice(0, 6)}`, name: "drift" };
const inNamespace = ["-n", ref.namespace];
const SOON = { timeoutMs: 5000, everyMs: 50 };

beforeAll(async () => {
  await installOperator();
  await kubectl(["create", "namespace", ref.namespace]);
  await applyCluster(ref, { pvc: { storageSize: "1Gi" }, readService: { enabled: true } });
  await clusterReady(ref, { timeoutMs: 180_000 });
}, 300_000);

afterAll(async () => {
  await kubectl(["delete", "namespace", ref.namespace, "--wait=false"]);
});

const RESOURCES: Readonly<Record<string, Resource>> = {
  configmap: CONFIG_MAPS,
  pdb: PDBS,
  pvc: PVCS,
  secret: SECRETS,
  service: SERVICES,
  statefulset: STATEFUL_SETS,
  valkeynode: defineResource(VALKEY_NODES),
};

/** Read in this process: starting a kubectl for every look would be a good part of the 5 s. */
async function field(kind: string, name: string, path: string): Promise<string> {
  const resource = RESOURCES[kind];
  if (resource === undefined) throw new Error(`nobody told this test about ${kind}`);
  let value: unknown = await client.find(resource, { namespace: ref.namespace, name });
  for (const key of path.split(".")) value = isRecord(value) ? value[key] : undefined;
  return value === undefined ? "" : JSON.stringify(value);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

/** What agents are given gets a new number with every writing: so that they take it, it is newer than the stranger's. */
function isBack(now: string, before: string): boolean {
  const alike = now.length > before.length / 2 && now.length < before.length * 2;
  return now.includes(".json") ? alike : now === before;
}

interface Edit {
  readonly what: string;
  readonly kind: string;
  readonly name: string;
  readonly patch: object;
  readonly path: string;
}

const EDITS: readonly Edit[] = [
  {
    what: "scales a StatefulSet",
    kind: "statefulset",
    name: "drift-0-0",
    patch: { spec: { replicas: 0 } },
    path: "spec.replicas",
  },
  {
    what: "empties the configuration",
    kind: "configmap",
    name: "drift-config",
    patch: { data: { "configuration.json": "{}" } },
    path: "data",
  },
  {
    what: "empties the secrets",
    kind: "secret",
    name: "drift-secrets",
    patch: { data: { "secrets.json": btoa("{}") } },
    path: "data",
  },
  {
    what: "turns a Service to other pods",
    kind: "service",
    name: "drift",
    patch: { spec: { selector: { app: "mine" } } },
    path: "spec.selector",
  },
  {
    what: "relabels a Service",
    kind: "service",
    name: "drift-read",
    patch: { metadata: { labels: { "app.kubernetes.io/managed-by": "me", "valkey.io/cr": "other" } } },
    path: "metadata.labels",
  },
  {
    what: "opens a budget",
    kind: "pdb",
    name: "drift-1",
    patch: { spec: { maxUnavailable: "100%" } },
    path: "spec.maxUnavailable",
  },
  {
    what: "relabels a claim",
    kind: "pvc",
    name: "drift-2-0-data",
    patch: { metadata: { labels: { "valkey.io/shard": "9" } } },
    path: "metadata.labels",
  },
  {
    what: "edits a node",
    kind: "valkeynode",
    name: "drift-2-1",
    patch: { spec: { suspended: true } },
    path: "spec.suspended",
  },
];

describe("a stranger", () => {
  for (const { what, kind, name, patch, path } of EDITS) {
    test(`${what}: put back within 5 s`, async () => {
      const before = await field(kind, name, path);
      expect(before === "" && kind !== "valkeynode").toBe(false);
      await kubectl(["patch", kind, name, ...inNamespace, "--type=merge", "-p", JSON.stringify(patch)]);
      const right = async () => isBack(await field(kind, name, path), before);
      await until(`${kind} ${name} is as it was`, right, SOON);
    }, 300_000);
  }

  for (const [kind, name] of [
    ["configmap", "drift-config"],
    ["secret", "drift-secrets"],
    ["service", "drift-headless"],
    ["service", "drift-1-1"],
    ["pdb", "drift-0"],
    ["secret", "drift-0-1-identity"],
  ] as const) {
    test(`deletes ${kind} ${name}: made again within 5 s`, async () => {
      const uid = await field(kind, name, "metadata.uid");
      expect(uid).not.toBe("");
      await kubectl(["delete", kind, name, ...inNamespace, "--wait=false"]);
      await until(
        `${kind} ${name} is there again`,
        async () => {
          const now = await field(kind, name, "metadata.uid");
          return now !== "" && now !== uid;
        },
        SOON,
      );
    }, 300_000);
  }

  test("empties a node's identity: issued anew within 5 s", async () => {
    const name = "drift-1-0-identity";
    const { thumbprint } = await issued(ref.namespace, name);
    const patch = { stringData: { "tls.crt": "", "tls.key": "" } };
    await kubectl(["patch", "secret", name, ...inNamespace, "--type=merge", "-p", JSON.stringify(patch)]);
    await issued(ref.namespace, name, (files) => files.thumbprint !== thumbprint, SOON.timeoutMs);
  }, 300_000);

  test("deletes a StatefulSet and leaves its pod: it is taken over, not replaced", async () => {
    const pod = (await podsOf(ref)).find(({ metadata }) => metadata.name === "drift-1-0-0");
    await kubectl(["delete", "statefulset", "drift-1-0", ...inNamespace, "--cascade=orphan"]);
    await until(
      "the StatefulSet is back",
      async () => (await field("statefulset", "drift-1-0", "status.readyReplicas")) === "1",
    );
    const after = (await podsOf(ref)).find(({ metadata }) => metadata.name === "drift-1-0-0");
    expect(after?.metadata.uid).toBe(pod?.metadata.uid);
  }, 300_000);

  test("is named in an event, and the condition says so for a while", async () => {
    await kubectl([
      "patch",
      "service",
      "drift",
      ...inNamespace,
      "--type=merge",
      "-p",
      JSON.stringify({ spec: { selector: { app: "mine" } } }),
    ]);
    await clusterWhere(
      ref,
      "is Drifted",
      ({ status }) =>
        status?.conditions?.some(({ type, status: state }) => type === "Drifted" && state === "True") === true,
      { timeoutMs: 60_000 },
    );
    await eventOf(ref.namespace, ref.name, "DriftRepaired");
  }, 300_000);
});

describe("on a running server", () => {
  // What was done to its objects has cost it pods.
  beforeAll(async () => {
    await until(
      "all pods are ready",
      async () => {
        const pods = await podsOf(ref);
        const ready = pods.filter(({ status }) =>
          status.conditions.some((one) => one.type === "Ready" && one.status === "True"),
        );
        return pods.length === 6 && ready.length === 6;
      },
      { timeoutMs: 150_000, everyMs: 200 },
    );
    await clusterReady(ref);
  }, 600_000);

  test("CONFIG SET of what the spec says is put back and shown", async () => {
    const [pod] = await podsOf(ref);
    const name = pod?.metadata.name ?? "";
    const before = await cli(ref, name, "config", "get", "cluster-node-timeout");
    await cli(ref, name, "config", "set", "cluster-node-timeout", "1234");
    await until(
      "it is put back",
      async () => (await cli(ref, name, "config", "get", "cluster-node-timeout")) === before,
      { timeoutMs: 60_000, everyMs: 200 },
    );
  }, 300_000);

  test("CLUSTER FORGET of a member is healed", async () => {
    const pods = await podsOf(ref);
    const [first, second] = pods;
    const id = await cli(ref, second?.metadata.name ?? "", "cluster", "myid");
    await cli(ref, first?.metadata.name ?? "", "cluster", "forget", id);
    await until(
      "it is known again",
      async () => (await cli(ref, first?.metadata.name ?? "", "cluster", "nodes")).includes(id),
      { timeoutMs: 120_000, everyMs: 500 },
    );
  }, 300_000);

  test("CLUSTER RESET of a replica is healed", async () => {
    const { status } = await clusterAt(ref);
    const replica = status?.shards?.[0]?.replicas?.[0]?.name ?? "";
    await cli(ref, `${replica}-0`, "cluster", "reset", "hard");
    await until(
      "it follows its primary again",
      async () => (await cli(ref, `${replica}-0`, "role")).startsWith("slave"),
      { timeoutMs: 120_000, everyMs: 500 },
    );
    await clusterReady(ref);
  }, 300_000);
});

test("a server that a stranger talks to goes on serving", async () => {
  const [pod] = await podsOf(ref);
  const valkey = new Valkey({ host: pod?.status.podIP ?? "", port: 6379, lazyConnect: true });
  valkey.on("error", () => {});
  await valkey.connect();
  expect(await valkey.ping()).toBe("PONG");
  valkey.disconnect();
});
