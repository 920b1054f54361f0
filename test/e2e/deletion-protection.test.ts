/** A protected ValkeyCluster under a real API server: who may delete it, and what people are told. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { until } from "../lib/until.ts";
import { tryKubectl } from "./api-server.ts";
import { apply, kubectl } from "./cluster.ts";
import { installOperator } from "./install.ts";

const namespace = `protected-${crypto.randomUUID().slice(0, 8)}`;
const PROTECTION = "valkey.io/deletion-protection";

/** Suspended, so that nothing has to run for it. */
function cluster(name: string, annotations: Record<string, string> = {}) {
  const spec = { suspended: true, acl: "none", pvc: { storageSize: "1Gi" } };
  return { apiVersion: "valkey.io/v1alpha1", kind: "ValkeyCluster", metadata: { name, namespace, annotations }, spec };
}

const exists = async (name: string) =>
  (await kubectl(["get", "vc", name, "-n", namespace, "--ignore-not-found", "-o", "name"])) !== "";

beforeAll(async () => {
  await installOperator();
  await kubectl(["create", "namespace", namespace]);
  await apply(cluster("kept", { [PROTECTION]: "true" }), cluster("free"));
  const dry = ["delete", "vc", "kept", "-n", namespace, "--dry-run=server"];
  await until("the webhook answers", async () => (await tryKubectl(dry)).code !== 0, { timeoutMs: 120_000 });
}, 300_000);

afterAll(async () => {
  await kubectl(["delete", "namespace", namespace, "--ignore-not-found", "--wait=false"]);
}, 300_000);

test("it is not deleted, and the answer says how to lift the protection", async () => {
  for (const policy of ["background", "foreground", "orphan"]) {
    const answer = await tryKubectl(["delete", "vc", "kept", "-n", namespace, `--cascade=${policy}`, "--wait=false"]);
    expect(answer.code).toBe(1);
    expect(answer.err).toContain(`kubectl annotate valkeycluster kept -n ${namespace} ${PROTECTION}-`);
  }
  const all = await tryKubectl(["delete", "vc", "--all", "-n", namespace, "--dry-run=server"]);
  expect(all.err).toContain("is protected against deletion");
  expect(await kubectl(["get", "vc", "kept", "-n", namespace, "-o", "jsonpath={.metadata.deletionTimestamp}"])).toBe(
    "",
  );
});

test("who deletes another one is told what becomes of its volumes", async () => {
  // The webhook gives advice and stands in nobody's way: a call that it does not answer in time passes without.
  await until("the webhook tells it", async () => {
    const { code, err } = await tryKubectl(["delete", "vc", "free", "-n", namespace, "--dry-run=server"]);
    expect(code).toBe(0);
    expect(err).toContain("Warning: the volumes of");
    expect(err).toContain(`kubectl delete pvc -l valkey.io/cr=free -n ${namespace}`);
    return true;
  });
});

test("a change that will be held back is told when it is applied", async () => {
  await kubectl([
    "patch",
    "vc",
    "kept",
    "-n",
    namespace,
    "--subresource=status",
    "--type=merge",
    "-p",
    '{"status":{"phase":"Suspended"}}',
  ]);
  const patch = ["patch", "vc", "kept", "-n", namespace, "--type=merge", "--dry-run=server", "-p"];
  await until("the webhook tells it", async () => {
    const { err } = await tryKubectl([...patch, '{"spec":{"masterCount":5}}']);
    return err.includes("Warning: spec.masterCount: this release cannot change it on a running cluster");
  });
});

test("with the protection lifted it goes", async () => {
  await kubectl(["annotate", "vc", "kept", "-n", namespace, `${PROTECTION}-`]);
  await kubectl(["delete", "vc", "kept", "-n", namespace, "--timeout=110s"]);
  expect(await exists("kept")).toBe(false);
}, 300_000);

test("a namespace takes a protected one with it", async () => {
  await apply(cluster("last", { [PROTECTION]: "true" }));
  await kubectl(["delete", "namespace", namespace, "--timeout=240s"]);
}, 300_000);
