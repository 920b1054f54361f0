/** What is wrong and what to do is in the status; when the cause is gone the cluster recovers; others are not held up. */
import { afterAll, beforeAll, describe, test } from "bun:test";
import { until } from "../lib/until.ts";
import { apply, kubectl } from "./cluster.ts";
import { applyCluster, type ClusterRef, clusterReady, clusterWhere } from "./clusters.ts";
import { installOperator } from "./install.ts";

const namespace = `trouble-${crypto.randomUUID().slice(0, 6)}`;
const PATIENCE = { timeoutMs: 180_000 };
const LONE = { replicasPerMaster: 0 };

beforeAll(async () => {
  await installOperator();
  await kubectl(["create", "namespace", namespace]);
}, 300_000);

afterAll(async () => {
  await kubectl(["delete", "namespace", namespace, "--wait=false"]);
});

async function says(ref: ClusterRef, ...words: readonly string[]): Promise<void> {
  await clusterWhere(
    ref,
    `says ${words.join(", ")}`,
    ({ status }) => words.every((word) => JSON.stringify(status ?? {}).includes(word)),
    PATIENCE,
  );
}

async function gone(ref: ClusterRef): Promise<void> {
  await kubectl(["delete", "vc", ref.name, "-n", namespace, "--timeout=180s"]);
}

describe("trouble is said, and recovers:", () => {
  test("no node fits", async () => {
    const ref = { namespace, name: "nowhere" };
    await applyCluster(ref, { ...LONE, nodeSelector: { nowhere: "here" } });
    await says(ref, "node");
    await applyCluster(ref, LONE);
    await clusterReady(ref, { timeoutMs: 180_000 });
    await gone(ref);
  }, 600_000);

  test("a claim that stays pending", async () => {
    const ref = { namespace, name: "claim" };
    await applyCluster(ref, { ...LONE, pvc: { storageSize: "1Gi", storageClassName: "no-such-class" } });
    await says(ref, "no-such-class");
    await gone(ref);
  }, 300_000);

  test("a reference to a TLS or ACL object that does not exist", async () => {
    const ref = { namespace, name: "refs" };
    await applyCluster(ref, { ...LONE, tls: "missing-tls", acl: "missing-acl" });
    await says(ref, "missing-tls", "missing-acl");
    await apply(
      {
        apiVersion: "v1",
        kind: "Secret",
        metadata: { namespace, name: "u" },
        stringData: { "acl-definitions.yaml": "users:\n- name: app\n  pass: [secret]\n  acl: '+@all ~*'\n" },
      },
      {
        apiVersion: "valkey.io/v1alpha1",
        kind: "ValkeyClusterAcl",
        metadata: { namespace, name: "missing-acl" },
        spec: { secretName: "u" },
      },
      {
        apiVersion: "valkey.io/v1alpha1",
        kind: "ValkeyClusterTls",
        metadata: { namespace, name: "missing-tls" },
        spec: { tlsAuthClients: "optional" },
      },
    );
    await clusterReady(ref, { timeoutMs: 180_000 });
    await gone(ref);
  }, 600_000);

  test("a setting that the server refuses at its start", async () => {
    const ref = { namespace, name: "setting" };
    await applyCluster(ref, { ...LONE, config: { "maxmemory-policy": "no-such-policy" } });
    await says(ref, "maxmemory-policy");
    await applyCluster(ref, LONE);
    await clusterReady(ref, { timeoutMs: 180_000 });
    await gone(ref);
  }, 600_000);
});

test("nothing is left of any of it", async () => {
  const left = ["get", "vc,valkeynode", "-n", namespace, "-o", "name"];
  await until("nothing is left", async () => (await kubectl(left)) === "");
}, 300_000);
