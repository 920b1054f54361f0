/** A pod that a quota refuses comes soon after the quota was raised, though its StatefulSet would not look. */
import { beforeAll, expect, test } from "bun:test";
import { NODE_LABEL } from "../../pkg/plan/objects/names.ts";
import { until } from "../lib/until.ts";
import { apply, kubectl, withNamespace } from "./cluster.ts";
import { installOperator } from "./install.ts";

beforeAll(async () => {
  await installOperator();
}, 300_000);

const NAME = "shop-0-0";

/** As the operator makes it for a node, as far as its caches look. */
function statefulSet(namespace: string) {
  const labels = { "app.kubernetes.io/managed-by": "valkey-operator", [NODE_LABEL]: NAME };
  return {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { name: NAME, namespace, labels },
    spec: {
      replicas: 1,
      serviceName: NAME,
      selector: { matchLabels: { [NODE_LABEL]: NAME } },
      template: {
        metadata: { labels },
        spec: {
          schedulingGates: [{ name: "test.valkey.io/never" }],
          containers: [{ name: "valkey", image: "valkey/valkey:9.1" }],
        },
      },
    },
  };
}

async function retriedAt(namespace: string): Promise<string> {
  const annotation = "jsonpath={.metadata.annotations.valkey\\.io/retry-at}";
  return kubectl(["get", "statefulset", NAME, "-n", namespace, "-o", annotation]);
}

test("a raised quota is noticed within half a minute", async () => {
  await withNamespace("quota", async (namespace) => {
    const quota = {
      apiVersion: "v1",
      kind: "ResourceQuota",
      metadata: { name: "none", namespace },
      spec: { hard: { pods: "0" } },
    };
    await apply(quota);
    await until("the quota is in force", async () => {
      const status = await kubectl([
        "get",
        "resourcequota",
        "none",
        "-n",
        namespace,
        "-o",
        "jsonpath={.status.hard.pods}",
      ]);
      return status === "0";
    });
    await apply(statefulSet(namespace));
    // By then the StatefulSet itself waits for longer than the operator does.
    const seen = new Set<string>();
    await until("it was made to try again and again", async () => seen.add(await retriedAt(namespace)).size > 2, {
      timeoutMs: 180_000,
      everyMs: 200,
    });
    await kubectl([
      "patch",
      "resourcequota",
      "none",
      "-n",
      namespace,
      "--type=merge",
      "-p",
      '{"spec":{"hard":{"pods":"5"}}}',
    ]);
    const began = performance.now();
    await until(
      "the pod is there",
      async () =>
        (await kubectl(["get", "pod", `${NAME}-0`, "-n", namespace, "--ignore-not-found", "-o", "name"])) !== "",
      {
        timeoutMs: 60_000,
      },
    );
    expect(performance.now() - began).toBeLessThan(20_000);
  });
}, 300_000);
