/** A new release of the operator, with another agent image, reaches the nodes and restarts no server. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { VALKEY_NODES } from "../../pkg/controllers/resources.ts";
import { until } from "../lib/until.ts";
import { kubectl } from "./cluster.ts";
import { applyCluster, clusterReady, clusterWhere } from "./clusters.ts";
import { installOperator, OPERATOR_NAMESPACE, rolledOut } from "./install.ts";
import { client } from "./operator.ts";
import { isDone, uidsOf } from "./rolling.ts";

const namespace = `upgrade-${crypto.randomUUID().slice(0, 6)}`;
const ref = { namespace, name: "shop" };
const NEWER = "localhost/valkey-sidecar:newer";
const environment = ["set", "env", "deployment/valkey-operator", "-n", OPERATOR_NAMESPACE];
let image = "";

beforeAll(async () => {
  await installOperator();
  const path = `jsonpath={.spec.template.spec.containers[0].env[?(@.name=="SIDECAR_IMAGE")].value}`;
  image = await kubectl(["get", "deployment", "valkey-operator", "-n", OPERATOR_NAMESPACE, "-o", path]);
  await kubectl(["create", "namespace", namespace]);
  await applyCluster(ref, { replicasPerMaster: 0 });
  await clusterReady(ref, { timeoutMs: 180_000 });
}, 300_000);

afterAll(async () => {
  await kubectl([...environment, `SIDECAR_IMAGE=${image}`]);
  await rolledOut();
  await kubectl(["delete", "namespace", namespace, "--ignore-not-found", "--wait=false"]);
}, 300_000);

test("nodes know the newer agent, pods keep the one they have", async () => {
  const before = await uidsOf(ref);
  await kubectl([...environment, `SIDECAR_IMAGE=${NEWER}`]);
  await rolledOut();
  await until(
    "every node would be made with the newer agent",
    async () => {
      const { items } = await client.list(VALKEY_NODES, { namespace });
      return items.every(({ spec }) => spec.podTemplate.spec.initContainers?.[0]?.image === NEWER);
    },
    { timeoutMs: 120_000 },
  );
  await clusterWhere(ref, "is as it was", isDone);
  expect(await uidsOf(ref)).toEqual(before);
}, 300_000);
