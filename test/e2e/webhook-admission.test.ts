/**
 * Our webhook server under a real API server: two replicas with shared certificates, called through a
 * ValidatingWebhookConfiguration whose caBundle we keep. Needs KUBECONFIG, and the API server in this network namespace.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { connect } from "node:tls";
import { createLogger } from "../../pkg/log/log.ts";
import type { AdmissionHandler } from "../../pkg/webhook/admission-call.ts";
import type { CertificatePolicy } from "../../pkg/webhook/certificate-plan.ts";
import { kubeCaBundleWriter, kubeSecretStore } from "../../pkg/webhook/kube-certificate-store.ts";
import { WebhookCertificates } from "../../pkg/webhook/webhook-certificates.ts";
import { type ServedCertificate, WebhookServer } from "../../pkg/webhook/webhook-server.ts";
import { until } from "../lib/until.ts";
import { type KubectlProxy, kubectl, kubectlProxy } from "./kubectl-proxy.ts";

const name = `webhook-e2e-${crypto.randomUUID().slice(0, 8)}`;
const log = createLogger({ program: "e2e", level: "fatal" });
const stop = new AbortController();

/** Lives so short that leaf and authority are exchanged several times while a test looks on. */
const policy: CertificatePolicy = {
  names: { ip: ["127.0.0.1"] },
  authorityLifetimeMs: 14_000,
  leafLifetimeMs: 7000,
  rotateBeforePercent: 66,
  settleMs: 1000,
};

/** What the name of a ConfigMap begins with tells the handler what to do. */
const handler: AdmissionHandler = async ({ name }, signal) => {
  if (name.startsWith("bad")) return { allowed: false, message: `data.size of ${name} is 7, it must be at most 5` };
  if (name.startsWith("panic")) throw new Error("slot map is undefined");
  if (name.startsWith("slow")) await new Promise((resolve) => signal.addEventListener("abort", resolve));
  return { allowed: true, ...(name.startsWith("warn") ? { warnings: ["size 5 is the most there is"] } : {}) };
};

interface Replica {
  readonly certificates: WebhookCertificates;
  readonly server: WebhookServer;
  readonly served: Set<string>;
  readonly running: Promise<void>;
}

let proxy: KubectlProxy;
let replicas: readonly Replica[] = [];

async function startReplica(): Promise<Replica> {
  const certificates = new WebhookCertificates({
    secrets: kubeSecretStore(proxy.call, { namespace: name, name: "webhook-certificates", labels: {} }),
    bundles: kubeCaBundleWriter(proxy.call, { kind: "validatingwebhookconfigurations", name }),
    policy,
    log,
    pollMs: 300,
  });
  const { certificate } = await certificates.refresh(stop.signal);
  const server = await WebhookServer.listen({
    certificate,
    handlers: { "/validate": handler },
    log,
    host: "127.0.0.1",
  });
  const served = new Set([certificate.cert]);
  const serve = (next: ServedCertificate) => {
    server.setCertificate(next);
    served.add(next.cert);
  };
  return { certificates, server, served, running: certificates.run(serve, stop.signal) };
}

function configuration(ports: readonly number[]) {
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingWebhookConfiguration",
    metadata: { name },
    webhooks: ports.map((port, index) => ({
      name: `replica-${index}.valkey.io`,
      clientConfig: { url: `https://127.0.0.1:${port}/validate` },
      rules: [{ apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"], operations: ["CREATE", "UPDATE"] }],
      namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": name } },
      // Every namespace gets this one from a controller; it is not ours to judge.
      matchConditions: [{ name: "ours", expression: "object.metadata.name != 'kube-root-ca.crt'" }],
      admissionReviewVersions: ["v1"],
      sideEffects: "None",
      failurePolicy: "Fail",
      timeoutSeconds: 3,
    })),
  };
}

beforeAll(async () => {
  proxy = await kubectlProxy();
  expect(await kubectl(["create", "namespace", name])).toMatchObject({ code: 0 });
  // Both at once, before there is a Secret: one of them makes it.
  replicas = await Promise.all([startReplica(), startReplica()]);
  const body = JSON.stringify(configuration(replicas.map(({ server }) => server.port)));
  expect(await kubectl(["create", "-f", "-"], body)).toMatchObject({ code: 0 });
  for (const { certificates } of replicas) certificates.poke();
  await until("the first admission", async () => (await create("probe")).code === 0);
}, 300_000);

afterAll(async () => {
  stop.abort();
  await Promise.all(replicas.map(({ running }) => running));
  await kubectl(["delete", "validatingwebhookconfiguration", name, "--ignore-not-found"]);
  await kubectl(["delete", "namespace", name, "--wait=false"]);
  await Promise.all(replicas.map(({ server }) => server.close(AbortSignal.timeout(2000))));
  await proxy.stop();
}, 300_000);

async function create(configMap: string): Promise<{ code: number; text: string }> {
  return kubectl(["-n", name, "create", "configmap", configMap]);
}

test("what is allowed passes, with its warnings", async () => {
  expect((await create("good")).code).toBe(0);
  const warned = await create("warned");
  expect(warned.code).toBe(0);
  expect(warned.text).toContain("Warning: size 5 is the most there is");
});

test("what is refused is refused with our words", async () => {
  const { code, text } = await create("bad");
  expect(code).toBe(1);
  expect(text).toContain("denied the request: data.size of bad is 7, it must be at most 5");
});

test("a handler that panics is told as an error of ours", async () => {
  const { code, text } = await create("panic");
  expect(code).toBe(1);
  expect(text).toContain("slot map is undefined");
  expect(text).toContain("this is an error of the operator, not of the object");
});

test("a handler that hangs is answered for before the API server gives up", async () => {
  const { code, text } = await create("slow");
  expect(code).toBe(1);
  expect(text).toContain("could not decide within 2700 ms");
});

test("what is no AdmissionReview gets a clear error", async () => {
  const [first] = replicas;
  const [ca = ""] = await publishedBundles();
  const url = `https://127.0.0.1:${first?.server.port}/validate`;
  const headers = { "content-type": "application/json" };
  const response = await fetch(url, { method: "POST", body: '{"kind":"Pod"}', headers, tls: { ca }, keepalive: false });
  expect(response.status).toBe(400);
  expect(await response.text()).toContain("this is no AdmissionReview of admission.k8s.io/v1: apiVersion");
});

async function publishedBundles(): Promise<readonly string[]> {
  const writer = kubeCaBundleWriter(proxy.call, { kind: "validatingwebhookconfigurations", name });
  return (await writer.read(AbortSignal.timeout(30_000)))?.bundles ?? [];
}

/** As an API server that just started would: a new connection under the bundle that is published now. */
async function handshake(port: number): Promise<string> {
  const [ca = ""] = await publishedBundles();
  return new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port, ca }, () => {
      socket.destroy();
      resolve("ok");
    });
    socket.once("error", (error) => resolve(error.message));
  });
}

async function admission(configMap: string): Promise<string> {
  const body = JSON.stringify({ metadata: { name: configMap } });
  const path = `/api/v1/namespaces/${name}/configmaps`;
  const signal = AbortSignal.timeout(30_000);
  const reply = await proxy.call({
    action: "create",
    method: "POST",
    path,
    contentType: "application/json",
    body,
    signal,
  });
  return reply.status === 201 ? "ok" : reply.body;
}

test("leaf and authority are exchanged under load without one failed admission", async () => {
  const bundles = new Set<string>();
  const failures: string[] = [];
  let admissions = 0;
  let handshakes = 0;
  const done = () => bundles.size >= 5 && replicas.every(({ served }) => served.size >= 5);
  const end = Date.now() + 180_000;
  const load = async (work: () => Promise<string>) => {
    while (!done() && Date.now() < end) {
      const result = await work();
      if (result !== "ok") failures.push(result);
      await Bun.sleep(5);
    }
  };
  await Promise.all([
    load(async () => admission(`load-a-${admissions++}`)),
    load(async () => admission(`load-b-${admissions++}`)),
    load(async () => handshake(replicas[handshakes++ % 2]?.server.port ?? 0)),
    load(async () => {
      for (const bundle of await publishedBundles()) bundles.add(bundle);
      return "ok";
    }),
  ]);
  console.log({ admissions, handshakes, bundles: bundles.size, leaves: replicas.map(({ served }) => served.size) });
  expect(failures).toEqual([]);
  expect(done()).toBe(true);
  expect(replicas.map(({ certificates }) => certificates.problem)).toEqual([undefined, undefined]);
}, 300_000);

test("a Secret that somebody deletes comes back, and nobody notices", async () => {
  const gone = await kubectl(["-n", name, "delete", "secret", "webhook-certificates"]);
  expect(gone.code).toBe(0);
  const look = ["-n", name, "get", "secret", "webhook-certificates"];
  await until("the Secret is back", async () => (await kubectl(look)).code === 0);
  expect(await admission("after-deletion")).toBe("ok");
  for (const { server } of replicas) expect(await handshake(server.port)).toBe("ok");
});

test("a caBundle that somebody empties is put back", async () => {
  const patch = JSON.stringify([{ op: "remove", path: "/webhooks/0/clientConfig/caBundle" }]);
  const emptied = await kubectl(["patch", "validatingwebhookconfiguration", name, "--type=json", "-p", patch]);
  expect(emptied.code).toBe(0);
  await until("the caBundle is back", async () =>
    (await publishedBundles()).every((bundle) => bundle.includes("CERTIFICATE")),
  );
  await until("an admission", async () => (await admission(`again-${Date.now()}`)) === "ok");
});
