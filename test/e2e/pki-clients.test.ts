/** A cluster whose certificates towards clients live a minute: they are renewed under traffic, and no client notices. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { VALKEY_BINDINGS, VALKEY_TLS } from "../../pkg/controllers/resources.ts";
import { handshake, thumbprint } from "../../pkg/pki/pki.ts";
import { announcedHost } from "../../pkg/plan/objects/names.ts";
import { until } from "../lib/until.ts";
import { WriteClient } from "../lib/write-client/write-client.ts";
import { apply, kubectl } from "./cluster.ts";
import { applyCluster, cli, clusterAt, clusterReady, containersOf, podsOf } from "./clusters.ts";
import { installOperator } from "./install.ts";
import { client } from "./operator.ts";
import { issued } from "./pki-objects.ts";

const namespace = `pki-clients-${crypto.randomUUID().slice(0, 6)}`;
const ref = { namespace, name: "brief" };
const SECRET = "brief-server-tls";
const RENEWALS = 2;
/** Writes a second. */
const RATE = 100;

beforeAll(async () => {
  await installOperator();
  await kubectl(["create", "namespace", namespace]);
  await apply({
    apiVersion: "valkey.io/v1alpha1",
    kind: "ValkeyClusterTls",
    metadata: { namespace, name: "minute" },
    spec: { tlsAuthClients: "optional", internalCerts: { clientCertValidity: "1m" } },
  });
  await applyCluster(ref, { tls: "minute" });
  await clusterReady(ref, { timeoutMs: 180_000 });
}, 600_000);

afterAll(async () => {
  await kubectl(["delete", "namespace", namespace, "--ignore-not-found", "--wait=false"]);
}, 300_000);

/** Addresses by the names that servers announce, which are those in their certificates. */
async function hosts(): Promise<Record<string, string>> {
  const pods = await podsOf(ref);
  return Object.fromEntries(
    pods.map(({ metadata, status }) => [announcedHost(ref, metadata.name.replace(/-0$/, "")), status.podIP]),
  );
}

/** What a client sees that connects now; a certificate that it would not trust is an error. */
async function shownBy(name: string, host: string, ca: string): Promise<string> {
  const result = await handshake({ host, port: 6379, ca, expect: { name } }, AbortSignal.timeout(20_000));
  if (!result.ok) throw new Error(`${name}: ${result.reason}`);
  return thumbprint(result.certificate);
}

test("certificates of a minute are renewed without a failed call, a restart or an untrusted handshake", async () => {
  const before = await containersOf(ref);
  const first = await issued(namespace, SECRET);
  const places = await hosts();
  const addresses = Object.keys(places).map((host) => ({ host, port: 6379 }));
  const tls = { ca: first.roots };
  await using writer = await WriteClient.start({ addresses, hosts: places, tls, frontEnd: "prober", rate: RATE });
  const seen = new Set<string>();
  const troubles: string[] = [];
  const look = async () => {
    const shown = await Promise.all(Object.entries(places).map(([name, host]) => shownBy(name, host, first.roots)));
    for (const each of shown) seen.add(each);
    return seen.size > RENEWALS && new Set(shown).size === 1;
  };
  await until(
    `every server has shown ${RENEWALS} new certificates`,
    async () => look().catch((error: unknown) => void troubles.push(String(error))),
    { timeoutMs: 300_000, everyMs: 250 },
  );
  expect(troubles).toEqual([]);
  expect(first.notAfter.getTime()).toBeLessThan(Date.now());

  // Links between servers are made anew only when they break: they must hold with what is in use now.
  const { status } = await clusterAt(ref);
  const pod = `${status?.shards?.[0]?.replicas?.[0]?.name ?? ""}-0`;
  const replica = (...words: readonly string[]) => cli(ref, pod, "--tls", "--insecure", ...words);
  expect(await replica("client", "kill", "type", "master")).toBe("1");
  await until("replication goes on", async () =>
    (await replica("info", "replication")).includes("master_link_status:up"),
  );

  const { lost, unread, errors, acknowledged, seconds } = await writer.stop();
  expect({ lost, unread, errors }).toEqual({ lost: [], unread: 0, errors: {} });
  expect(acknowledged).toBeGreaterThan((seconds * RATE) / 2);
  expect(await containersOf(ref)).toEqual(before);
}, 600_000);

test("the binding and the ValkeyClusterTls name what servers show", async () => {
  await until(
    "they agree with a handshake",
    async () => {
      const { roots } = await issued(namespace, SECRET);
      const places = Object.entries(await hosts());
      const [shown, ...others] = await Promise.all(places.map(([name, host]) => shownBy(name, host, roots)));
      if (others.some((other) => other !== shown)) return false;
      const binding = await client.get(VALKEY_BINDINGS, { namespace, name: "brief-cert-binding" });
      const { status } = await client.get(VALKEY_TLS, { namespace, name: "minute" });
      const active = binding.spec.active?.find(({ purpose }) => purpose === "tls");
      return active?.thumbprint === shown && status?.thumbprint === shown;
    },
    { timeoutMs: 60_000, everyMs: 250 },
  );
}, 300_000);
