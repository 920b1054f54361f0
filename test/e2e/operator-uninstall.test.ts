/** The operator goes and comes back as docs/uninstall.md says, while clusters run: their servers do not notice. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { run } from "../../scripts/lib.ts";
import { until } from "../lib/until.ts";
import { WriteClient } from "../lib/write-client/write-client.ts";
import { tryKubectl } from "./api-server.ts";
import { kubectl, onLab } from "./cluster.ts";
import * as clusters from "./clusters.ts";
import * as install from "./install.ts";

const namespace = `uninstall-${crypto.randomUUID().slice(0, 6)}`;
const ref = { namespace, name: "stays" };
const PROTECTION = "valkey.io/deletion-protection";
const SLOW = { timeoutMs: 180_000 };

beforeAll(async () => {
  await install.installOperator();
  await kubectl(["create", "namespace", namespace]);
  await clusters.applyCluster(ref, { pvc: { storageSize: "64Mi", whenDeleted: "Delete" } });
  await kubectl(["annotate", "vc", ref.name, "-n", namespace, `${PROTECTION}=true`]);
  await clusters.clusterReady(ref, SLOW);
}, 600_000);

afterAll(async () => {
  await install.installOperator();
  await kubectl(["delete", "namespace", namespace, "--ignore-not-found", "--wait=false"]);
}, 300_000);

/** In the words of docs/uninstall.md. */
const KEEP_ROOT = `kubectl get secret -n valkey-operator-system valkey-root-ca-cert -o yaml |
  grep -vE '^  (creationTimestamp|resourceVersion|uid):'`;

async function reinstalled(meanwhile: () => Promise<void>): Promise<void> {
  const root = await run(["sh", "-c", KEEP_ROOT]);
  await install.removeOperator("install.yaml");
  expect(await kubectl(["get", "namespace", install.OPERATOR_NAMESPACE, "--ignore-not-found"])).toBe("");
  await meanwhile();
  await kubectl(["create", "namespace", install.OPERATOR_NAMESPACE]);
  await kubectl(["apply", "-f", "-"], root);
  await install.installOperator();
}

async function setting(name: string, value: string): Promise<void> {
  const patch = JSON.stringify({ spec: { config: { [name]: value } } });
  await kubectl(["patch", "vc", ref.name, "-n", namespace, "--type=merge", "-p", patch]);
  await until(
    `${name} is ${value} on a server`,
    async () => (await clusters.cli(ref, "stays-1-0-0", "config", "get", name)).endsWith(value),
    SLOW,
  );
}

test("with the operator away a protected cluster is not deleted, however it is tried", async () => {
  await install.scaleOperator(0);
  try {
    for (const policy of ["background", "foreground", "orphan"]) {
      const flags = ["-n", namespace, `--cascade=${policy}`, "--wait=false"];
      const answer = await tryKubectl(["delete", "vc", ref.name, ...flags]);
      expect(answer.code).toBe(1);
      expect(answer.err).toContain(`kubectl annotate valkeycluster stays -n ${namespace} ${PROTECTION}-`);
    }
  } finally {
    await install.scaleOperator(2);
    await install.rolledOut();
  }
}, 300_000);

test.skipIf(!onLab)(
  "uninstalled and installed again with its root, it takes over what runs: no restart, no failed call",
  async () => {
    const before = await clusters.containersOf(ref);
    await using writer = await WriteClient.start({
      addresses: await clusters.addressesOf(ref),
      frontEnd: "prober",
      rate: 60,
    });
    await reinstalled(async () => {
      const acknowledged = writer.acknowledged;
      await until("writes go on without an operator", () => writer.acknowledged > acknowledged + 100);
    });
    await setting("hash-max-listpack-entries", "77");
    await clusters.clusterReady(ref, SLOW);
    expect(await clusters.containersOf(ref)).toEqual(before);
    const { lost, unread, errors } = await writer.stop();
    expect({ lost, unread, errors }).toEqual({ lost: [], unread: 0, errors: {} });
  },
  600_000,
);

test.skipIf(!onLab)(
  "deleted while nobody could refuse it, a protected cluster runs on and says so until the protection is lifted",
  async () => {
    const before = await clusters.containersOf(ref);
    await reinstalled(async () => void (await kubectl(["delete", "vc", ref.name, "-n", namespace, "--wait=false"])));
    const said = (cluster: Awaited<ReturnType<typeof clusters.clusterAt>>) =>
      cluster.status?.holds?.some(({ predicate }) => predicate === "deletion-protected") === true;
    const { status } = await clusters.clusterWhere(ref, "says that it is held", said, SLOW);
    expect(JSON.stringify(status?.holds)).toContain(`${PROTECTION}-`);
    expect(await clusters.containersOf(ref)).toEqual(before);
    await kubectl(["annotate", "vc", ref.name, "-n", namespace, `${PROTECTION}-`]);
    await kubectl(["wait", "vc", ref.name, "-n", namespace, "--for=delete", "--timeout=240s"]);
  },
  600_000,
);
