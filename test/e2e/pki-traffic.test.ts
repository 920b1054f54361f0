/** A running cluster whose certificates live a minute, and whose root is replaced meanwhile: nobody notices. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { VALKEY_BINDINGS, VALKEY_NODES } from "../../pkg/controllers/resources.ts";
import { handshake, thumbprint } from "../../pkg/pki/pki.ts";
import { until } from "../lib/until.ts";
import { kubectl } from "./cluster.ts";
import { applyCluster, cli, clusterAt, clusterReady, holds, podsOf } from "./clusters.ts";
import { installOperator, OPERATOR_NAMESPACE } from "./install.ts";
import { client } from "./operator.ts";
import { issued } from "./pki-objects.ts";

const namespace = `pki-traffic-${crypto.randomUUID().slice(0, 6)}`;
const cluster = { namespace, name: "brief" };
const ROOT = "valkey-root-ca";
const NODES = ["brief-0-0", "brief-1-0", "brief-2-0"];

beforeAll(async () => {
  await installOperator();
  await kubectl(["create", "namespace", namespace]);
  await applyCluster(cluster, { replicasPerMaster: 0, operatorMtls: { clientCertValidity: "1m" } });
  await clusterReady(cluster, { timeoutMs: 180_000 });
}, 300_000);
afterAll(async () => {
  await kubectl(["delete", "namespace", namespace, "--ignore-not-found", "--wait=false"]);
}, 300_000);

/** What the agent of a node shows to the operator now. */
async function shownBy(node: string): Promise<string> {
  const { status } = await client.get(VALKEY_NODES, { namespace, name: node });
  const own = await issued(OPERATOR_NAMESPACE, "valkey-operator-identity");
  const result = await handshake(
    {
      host: status?.pod?.ip ?? "",
      port: 8444,
      ca: own.roots,
      credential: { cert: own.chain, key: own.key },
      untilAccepted: true,
      expect: { identity: (id) => id.role === "node" && id.node === node },
    },
    AbortSignal.timeout(20_000),
  );
  if (!result.ok) throw new Error(result.reason);
  if (!result.accepted) throw new Error(`${node} does not accept the operator`);
  return thumbprint(result.certificate);
}

test("certificates of a minute and their root are replaced under a cluster that stays ready", async () => {
  const pods = (await podsOf(cluster)).map(({ metadata, status }) => ({
    uid: metadata.uid,
    restarts: [...status.containerStatuses, ...status.initContainerStatuses].map(({ restartCount }) => restartCount),
  }));
  const first = new Map(await Promise.all(NODES.map(async (node) => [node, await shownBy(node)] as const)));
  const [before] = (await issued(OPERATOR_NAMESPACE, `${ROOT}-cert`)).rootThumbprints;
  await kubectl([
    "annotate",
    "valkeyca",
    ROOT,
    "-n",
    OPERATOR_NAMESPACE,
    "--overwrite",
    `valkey.io/rotate=${Date.now()}`,
  ]);
  const troubles: string[] = [];
  let rounds = 0;
  const look = async () => {
    rounds += 1;
    const state = await clusterAt(cluster);
    if (!holds(state, "Ready")) troubles.push(`not ready: ${JSON.stringify(state.status?.conditions)}`);
    await cli(cluster, "brief-0-0-0", "-c", "SET", `key-${rounds}`, String(rounds));
    const shown = await Promise.all(NODES.map(shownBy));
    const leaves = await Promise.all(NODES.map(async (node) => issued(namespace, `${node}-identity`)));
    return leaves.every(({ thumbprint: own, rootThumbprints }, index) => {
      const moved = rootThumbprints.length === 1 && rootThumbprints[0] !== before;
      return moved && own === shown[index] && own !== first.get(NODES[index] ?? "");
    });
  };
  await until(
    "every agent shows a certificate under the new root alone",
    async () => look().catch((error: unknown) => void troubles.push(String(error))),
    { timeoutMs: 180_000, everyMs: 250 },
  );
  expect(troubles).toEqual([]);
  const after = (await podsOf(cluster)).map(({ metadata, status }) => ({
    uid: metadata.uid,
    restarts: [...status.containerStatuses, ...status.initContainerStatuses].map(({ restartCount }) => restartCount),
  }));
  expect(after).toEqual(pods);
  await until("the binding says that all is in use", async () => {
    const { status } = await client.get(VALKEY_BINDINGS, { namespace, name: "brief-cert-binding" });
    return status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True");
  });
  expect(await cli(cluster, "brief-0-0-0", "-c", "GET", `key-${rounds}`)).toBe(String(rounds));
}, 300_000);
