/** The operator as it is installed: what kubectl apply gives, what it tells, what it refuses. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createServer } from "node:net";
import { until } from "../lib/until.ts";
import { kubectl } from "./cluster.ts";
import * as install from "./install.ts";
import * as operator from "./operator.ts";

const NAMESPACE = `operator-install-${crypto.randomUUID().slice(0, 6)}`;
const SYSTEM = ["-n", install.OPERATOR_NAMESPACE];

beforeAll(async () => {
  await install.installOperator();
  await kubectl(["create", "namespace", NAMESPACE]);
}, 300_000);
afterAll(async () => {
  await kubectl(["delete", "namespace", NAMESPACE, "--ignore-not-found", "--wait=false"]);
}, 300_000);

/** A page of the health port, through the API server. */
async function page(pod: string, path: string): Promise<string> {
  return kubectl(["get", "--raw", `/api/v1/namespaces/${install.OPERATOR_NAMESPACE}/pods/${pod}:8081/proxy${path}`]);
}

/** Without asking for it twice: what a person sees who applies a cluster without replicas. */
async function applyWithoutReplicas(): Promise<string> {
  const spec = { masterCount: 3, replicasPerMaster: 0, valkeyImage: { tag: "9.1" } };
  const cluster = { apiVersion: "valkey.io/v1alpha1", kind: "ValkeyCluster", metadata: { name: "bare" }, spec };
  const flags = ["-n", NAMESPACE, "--dry-run=server", "--warnings-as-errors"];
  return kubectl(["create", ...flags, "-f", "-"], JSON.stringify(cluster)).catch((error: unknown) => String(error));
}

describe("the installation", () => {
  test("applied again it changes nothing that runs", async () => {
    const caBundle = ["get", "validatingwebhookconfiguration", "valkey-operator", "-o", "jsonpath={..caBundle}"];
    const before = { pods: await operator.settledPair(), bundle: await kubectl(caBundle) };
    await kubectl(["apply", "-f", "manifests/install.yaml"]);
    await install.rolledOut();
    expect(await operator.settledPair()).toEqual(before.pods);
    expect(before.bundle).not.toBe("");
    expect(await kubectl(caBundle)).toBe(before.bundle);
  });

  test("its namespace enforces the restricted standard, and the API server sees nothing in it that breaks it", async () => {
    const standard = "pod-security.kubernetes.io/enforce";
    const path = `jsonpath={.metadata.labels.${standard.replaceAll(".", "\\.")}}`;
    expect(await kubectl(["get", "namespace", install.OPERATOR_NAMESPACE, "-o", path])).toBe("restricted");
    // Labelling anew makes the API server check every pod that is there; what breaks the standard is a warning.
    const label = ["--overwrite", "--dry-run=server", "--warnings-as-errors", `${standard}=restricted`];
    await kubectl(["label", "namespace", install.OPERATOR_NAMESPACE, ...label]);
  });

  test("it makes its first objects", async () => {
    await operator.caReady(install.OPERATOR_NAMESPACE, "valkey-root-ca", { secret: "valkey-root-ca-cert" });
    const defaults = ["get", ...SYSTEM, "valkeyclusterdefaults", "valkey-operator-defaults"];
    await until("it has made the defaults", () => kubectl(defaults));
  });

  test("a cluster without replicas is accepted with a warning", async () => {
    await until("the webhook warns", async () => (await applyWithoutReplicas()).includes("replicasPerMaster is 0"));
  });

  test("no call to the webhook is lost while the replicas are replaced", async () => {
    await install.restartOperator();
    const answers: string[] = [];
    const replaced = new AbortController();
    const rollout = install.rolledOut().finally(() => replaced.abort());
    while (!replaced.signal.aborted) answers.push(await applyWithoutReplicas());
    await rollout;
    console.log(`${answers.length} calls to the webhook while the replicas were replaced`);
    expect(answers.filter((answer) => !answer.includes("replicasPerMaster is 0"))).toEqual([]);
    expect(answers.length).toBeGreaterThan(3);
  });

  test("metrics tell about caches, queues, leadership and the process", async () => {
    const families = ["cache_objects{", "cache_missed_total{", "workqueue_depth{", "workqueue_adds_total{"];
    const always = ["leader_election_leading{", "process_resident_memory_bytes ", "build_info{"];
    // Who holds the Lease is told by the Lease first.
    await until("both replicas tell it", async () => {
      const { leader, standby } = await operator.settledPair();
      const text = await page(leader.name, "/metrics");
      for (const family of [...families, ...always]) expect(text).toContain(`\n${family}`);
      expect(text).toMatch(/\nleader_election_leading\{.*\} 1\n/);
      expect(await page(standby.name, "/metrics")).toMatch(/\nleader_election_leading\{.*\} 0\n/);
      return true;
    });
  });

  test("readiness names its checks", async () => {
    const { standby } = await operator.settledPair();
    const text = await page(standby.name, "/readyz?verbose");
    for (const check of ["manager", "shutdown"]) expect(text).toContain(check);
  });

  test("the log level is changed at run time, from inside the pod only", async () => {
    const { standby } = await operator.settledPair();
    expect(await page(standby.name, "/loglevel").catch((error: unknown) => String(error))).toContain("port-forward");
    await withPortForward(standby.name, async (url) => {
      const level = async (method: "GET" | "PUT", body?: string) => {
        const request = body === undefined ? { method } : { method, body };
        return (await fetch(url, { ...request, signal: AbortSignal.timeout(5000) })).text();
      };
      const before = await level("GET");
      expect(await level("PUT", "debug")).toBe("debug\n");
      const lines = async () => operator.logLines(standby.name);
      await until("the log tells it", async () =>
        (await lines()).some(({ level: of, logLevel }) => of === "warn" && logLevel === "debug"),
      );
      expect(await level("PUT", "loud")).toContain("must be one of");
      expect(await level("PUT", before.trim())).toBe(before);
    });
  });
});

async function withPortForward(pod: string, work: (url: string) => Promise<void>): Promise<void> {
  const port = await freePort();
  const context = process.env["KUBE_CONTEXT"];
  const chosen = context === undefined ? [] : [`--context=${context}`];
  const command = ["kubectl", ...chosen, "port-forward", ...SYSTEM, `pod/${pod}`, `${port}:8081`];
  const child = Bun.spawn(command, { stdio: ["ignore", "ignore", "inherit"] });
  const url = `http://127.0.0.1:${port}/loglevel`;
  try {
    await until("the port is forwarded", async () => (await fetch(url, { signal: AbortSignal.timeout(2000) })).ok);
    await work(url);
  } finally {
    child.kill();
    await child.exited;
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  const address = server.address();
  const closed = Promise.withResolvers<void>();
  server.close(() => closed.resolve());
  await closed.promise;
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}
