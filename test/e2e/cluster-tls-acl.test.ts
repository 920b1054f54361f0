/** Clusters that are made with TLS and users: what valkey-cli, iovalkey and openssl see of them. */
import { beforeAll, describe, expect, test } from "bun:test";
import { readdir } from "node:fs/promises";
import { Cluster, Redis as Valkey } from "iovalkey";
import { VALKEY_BINDINGS, VALKEY_TLS } from "../../pkg/controllers/resources.ts";
import { SECRETS } from "../../pkg/kube/resource.ts";
import {
  createIntermediate,
  createRoot,
  encodeCertificates,
  encodeKey,
  issueLeaf,
  thumbprint,
} from "../../pkg/pki/pki.ts";
import { containerProcesses } from "../lab/faults.ts";
import { until } from "../lib/until.ts";
import { apply, kubectl, theLab, withNamespace } from "./cluster.ts";
import { applyCluster, type ClusterRef, clusterReady, clusterWhere, holds, podsOf } from "./clusters.ts";
import { installOperator } from "./install.ts";
import { client } from "./operator.ts";

beforeAll(() => installOperator(), 300_000);

const DEFINITIONS = `
valkey-user:
  name: admin
  pass: ["admin-secret"]
replication-user:
  name: replication
  pass: ["replication-secret"]
exporter-user:
  name: exporter
  pass: ["exporter-secret"]
users:
- name: app
  pass: ["app-secret", "app-secret-before"]
  acl: "+@read +@write +@connection +info +cluster|slots +cluster|shards +cluster|info ~app:*"
`;

function aclObjects(namespace: string) {
  return [
    {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { namespace, name: "users" },
      stringData: { "acl-definitions.yaml": DEFINITIONS },
    },
    {
      apiVersion: "valkey.io/v1alpha1",
      kind: "ValkeyClusterAcl",
      metadata: { namespace, name: "users" },
      spec: { secretName: "users" },
    },
  ];
}

function tlsObject(namespace: string, spec: Readonly<Record<string, unknown>>) {
  return { apiVersion: "valkey.io/v1alpha1", kind: "ValkeyClusterTls", metadata: { namespace, name: "tls" }, spec };
}

async function secretText(namespace: string, name: string, key: string): Promise<string> {
  const encoded = await kubectl([
    "get",
    "secret",
    "-n",
    namespace,
    name,
    "-o",
    `jsonpath={.data.${key.replace(".", "\\.")}}`,
  ]);
  return Buffer.from(encoded, "base64").toString();
}

/** What openssl says about the server at an address. */
async function sClient(address: string, ca: string, ...more: readonly string[]): Promise<string> {
  const file = `/tmp/ca-${crypto.randomUUID()}.crt`;
  await Bun.write(file, ca);
  const words = ["openssl", "s_client", "-connect", address, "-CAfile", file, "-verify_return_error", ...more];
  const child = Bun.spawn(words, { stdin: new Blob(["QUIT\r\n"]), stdout: "pipe", stderr: "pipe" });
  const timer = setTimeout(() => child.kill(), 30_000);
  const text = (await new Response(child.stdout).text()) + (await new Response(child.stderr).text());
  clearTimeout(timer);
  await Bun.file(file).delete();
  return text;
}

/** The exporter reads metrics from outside: whoever takes it over must not find keys and passwords. */
async function expectApart(namespace: string, pod: string): Promise<void> {
  const lab = await theLab();
  if (lab === undefined) return;
  const processOf = async (container: string) => (await containerProcesses(lab, { namespace, pod, container }))[0] ?? 0;
  const [exporter, valkey] = [await processOf("exporter"), await processOf("valkey")];
  expect(await readdir(`/proc/${exporter}/root/run/valkey`)).toEqual(["socket"]);
  const userOf = async (pid: number) => /^Uid:\s+(\d+)/m.exec(await Bun.file(`/proc/${pid}/status`).text())?.[1];
  expect(await userOf(exporter)).not.toBe(await userOf(valkey));
}

describe("a cluster with certificates of the operator and users of a Secret", () => {
  for (const tag of ["8.1", "9.1"]) {
    test(`${tag}: comes up, and lets in who may`, async () => {
      await withNamespace("secure", async (namespace) => {
        const ref: ClusterRef = { namespace, name: "secure" };
        await apply(...aclObjects(namespace), tlsObject(namespace, { tlsAuthClients: "optional" }));
        await applyCluster(ref, { valkeyImage: { tag }, tls: "tls", acl: "users", exporter: { enabled: true } });
        await clusterReady(ref, { timeoutMs: 180_000 });
        await clusterWhere(ref, "has its users and its certificate", (cluster) => {
          const { tls, acl } = cluster.status ?? {};
          const valid = tls?.enabled === true && tls.certificateStatus === "Valid";
          return holds(cluster, "ACLSynced") && valid && acl?.enabled === true && acl.synced === true;
        });
        const ca = await secretText(namespace, "secure-server-tls", "ca.crt");
        const pods = await podsOf(ref);
        const [first] = pods;
        if (first === undefined) throw new Error("no pod");
        const host = `${first.metadata.name}.secure-headless.${namespace}.svc`;
        const shown = await sClient(`${first.status.podIP}:6379`, ca, "-verify_hostname", host);
        expect(shown).toContain("Verify return code: 0 (ok)");
        // The bus and replication speak TLS too: nothing else answers there.
        expect(await sClient(`${first.status.podIP}:16379`, ca)).toContain("BEGIN CERTIFICATE");

        const natMap = Object.fromEntries(
          pods.map(({ metadata, status: { podIP } }) => [
            `${metadata.name}.secure-headless.${namespace}.svc:6379`,
            { host: podIP, port: 6379 },
          ]),
        );
        const app = new Cluster([{ host: first.status.podIP, port: 6379 }], {
          natMap,
          clusterRetryStrategy: (times) => (times > 20 ? null : 200),
          redisOptions: {
            username: "app",
            password: "app-secret",
            tls: { ca, servername: host },
          },
        });
        const troubles: string[] = [];
        app.on("error", (error: Error) => troubles.push(String(error)));
        app.on("node error", (error: Error) => troubles.push(String(error)));
        for (let n = 0; n < 50; n += 1) {
          await app.set(`app:${n}`, String(n)).catch((error: unknown) => {
            throw new Error(`cannot write: ${troubles.join(", ")}`, { cause: error });
          });
        }
        expect(await app.get("app:7")).toBe("7");
        const denied = await app.set("other", "1").catch((error: unknown) => String(error));
        expect(denied).toContain("NOPERM");
        app.disconnect();

        const stranger = new Valkey({
          host: first.status.podIP,
          port: 6379,
          tls: { ca, servername: host },
          lazyConnect: true,
          enableReadyCheck: false,
        });
        stranger.on("error", () => {});
        await stranger.connect();
        const refused = await stranger.get("app:7").catch((error: unknown) => String(error));
        expect(refused).toContain("NOAUTH");
        stranger.disconnect();

        // Passwords of ordinary users are in no pod, not even in its files: hashes are.
        const file = await kubectl([
          "exec",
          "-n",
          namespace,
          first.metadata.name,
          "-c",
          "valkey",
          "--",
          "cat",
          "/run/valkey/users.acl",
        ]).catch(() => "");
        expect(file).not.toContain("app-secret");
        const material = await secretText(namespace, "secure-secrets", "secrets.json");
        expect(material).not.toContain("app-secret");
        const info = [
          "exec",
          "-n",
          namespace,
          first.metadata.name,
          "-c",
          "valkey",
          "--",
          "valkey-cli",
          "--tls",
          "--insecure",
          "--user",
          "admin",
          "--pass",
          "admin-secret",
          "--no-auth-warning",
          "cluster",
          "info",
        ];
        await until("the cluster is well", async () => (await kubectl(info)).includes("cluster_state:ok"));
        const metrics = await until("the exporter reads the server", async () => {
          const text = await (await fetch(`http://${first.status.podIP}:9121/metrics`)).text();
          return text.includes("redis_up 1") && text;
        });
        expect(metrics).toContain("redis_connected_clients");
        await expectApart(namespace, first.metadata.name);
      });
    }, 300_000);
  }
});

test("a cluster with certificates that somebody else makes", async () => {
  await withNamespace("external", async (namespace) => {
    const ref: ClusterRef = { namespace, name: "outer" };
    const now = new Date();
    const lifetimeMs = 86_400_000;
    const root = await createRoot({ name: "theirs", now, lifetimeMs });
    const intermediate = await createIntermediate(root, { name: "theirs too", now, lifetimeMs });
    const leaf = await issueLeaf(intermediate, {
      name: "outer",
      names: { dns: [`*.outer-headless.${namespace}.svc`, `outer.${namespace}.svc`, "localhost"] },
      usages: ["server", "client"],
      now,
      lifetimeMs,
    });
    await client.create(SECRETS, {
      metadata: { namespace, name: "theirs" },
      stringData: {
        "tls.crt": encodeCertificates([leaf.certificate, intermediate.certificate]),
        "tls.key": await encodeKey(leaf.keys.privateKey),
        "ca.crt": encodeCertificates([root.certificate]),
      },
    });
    await apply(tlsObject(namespace, { externalCerts: "theirs", tlsAuthClients: true }));
    await applyCluster(ref, { tls: "tls" });
    await clusterReady(ref, { timeoutMs: 180_000 });
    const [first] = await podsOf(ref);
    const ca = encodeCertificates([root.certificate]);
    const host = `${first?.metadata.name ?? ""}.outer-headless.${namespace}.svc`;
    const shown = await sClient(`${first?.status.podIP ?? ""}:6379`, ca, "-verify_hostname", host);
    expect(shown).toContain("BEGIN CERTIFICATE");
    await until("binding and ValkeyClusterTls name what is shown", async () => {
      const { spec } = await client.get(VALKEY_BINDINGS, { namespace, name: "outer-cert-binding" });
      const { status } = await client.get(VALKEY_TLS, { namespace, name: "tls" });
      const active = spec.active?.find(({ purpose }) => purpose === "tls");
      const own = thumbprint(leaf.certificate);
      return active?.thumbprint === own && active.secretName === "theirs" && status?.thumbprint === own;
    });
  });
}, 300_000);
