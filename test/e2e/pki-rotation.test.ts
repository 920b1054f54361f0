/** Certificates that live a minute, and a root that is replaced on a wish: trust first, signatures after. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { SECRETS } from "../../pkg/kube/resource.ts";
import { until } from "../lib/until.ts";
import { kubectl } from "./cluster.ts";
import { applyCluster } from "./clusters.ts";
import { installOperator, OPERATOR_NAMESPACE } from "./install.ts";
import * as operator from "./operator.ts";
import { type IssuedFiles, issued, opensslVerify } from "./pki-objects.ts";

const namespace = `pki-rotation-${crypto.randomUUID().slice(0, 6)}`;
const ROOT = "valkey-root-ca";

beforeAll(async () => {
  await installOperator();
  await kubectl(["create", "namespace", namespace]);
  await applyCluster({ namespace, name: "brief" }, { suspended: true, operatorMtls: { clientCertValidity: "1m" } });
  await applyCluster({ namespace, name: "long" }, { suspended: true });
}, 300_000);
afterAll(async () => {
  await kubectl(["delete", "namespace", namespace, "--ignore-not-found", "--wait=false"]);
}, 300_000);

async function rootFiles(): Promise<IssuedFiles> {
  return issued(OPERATOR_NAMESPACE, `${ROOT}-cert`);
}

test("a lost root is replaced, and everything comes under the new one by itself", async () => {
  const before = await rootFiles();
  const leaf = await issued(namespace, "long-0-0-identity");
  await operator.client.delete(SECRETS, { namespace: OPERATOR_NAMESPACE, name: `${ROOT}-cert` });
  const after = await issued(OPERATOR_NAMESPACE, `${ROOT}-cert`, ({ thumbprint }) => thumbprint !== before.thumbprint);
  const under = ({ thumbprint, rootThumbprints }: IssuedFiles) =>
    thumbprint !== leaf.thumbprint && rootThumbprints.length === 1 && rootThumbprints[0] === after.thumbprint;
  expect(await opensslVerify(await issued(namespace, "long-0-0-identity", under), after.chain)).toContain("OK");
  const own = await issued(OPERATOR_NAMESPACE, "valkey-operator-identity", under);
  expect(await opensslVerify(own, after.chain)).toContain("OK");
}, 300_000);

test("a certificate of a minute is renewed before its end, under a root that may change meanwhile", async () => {
  const brief = await issued(namespace, "brief-0-0-identity");
  expect(brief.notAfter.getTime() - Date.now()).toBeLessThan(61_000);
  const before = await rootFiles();
  await kubectl([
    "annotate",
    "valkeyca",
    ROOT,
    "-n",
    OPERATOR_NAMESPACE,
    "--overwrite",
    `valkey.io/rotate=${Date.now()}`,
  ]);

  const trusting = await issued(namespace, "long-0-0-identity", ({ rootThumbprints }) => {
    return rootThumbprints.length === 2 && rootThumbprints[0] === before.thumbprint;
  });
  expect(await opensslVerify(trusting, before.chain)).toContain("OK");
  const [, next] = trusting.rootThumbprints;

  await until("the next root signs", async () => (await rootFiles()).thumbprint === next, { timeoutMs: 120_000 });
  const moved = await issued(namespace, "long-0-0-identity", ({ thumbprint }) => thumbprint !== trusting.thumbprint);
  const after = await rootFiles();
  expect(await opensslVerify(moved, after.chain)).toContain("OK");
  const own = await issued(
    OPERATOR_NAMESPACE,
    "valkey-operator-identity",
    ({ rootThumbprints }) => rootThumbprints[0] === next,
  );
  expect(await opensslVerify(own, after.chain)).toContain("OK");

  const alone = ({ rootThumbprints }: IssuedFiles) => rootThumbprints.length === 1 && rootThumbprints[0] === next;
  await issued(namespace, "long-0-0-identity", alone, 120_000);
  await operator.eventOf(OPERATOR_NAMESPACE, ROOT, "OldRootDropped");
  const renewed = await issued(namespace, "brief-0-0-identity", alone, 120_000);
  expect(renewed.notAfter.getTime()).toBeGreaterThan(brief.notAfter.getTime());
  expect(renewed.notAfter.getTime()).toBeGreaterThan(Date.now());
}, 300_000);
